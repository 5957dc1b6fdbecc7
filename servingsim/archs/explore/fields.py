"""A config's fields read by meaning: any of its names, checked as they are read, with the model type's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.archs.explore.names import NAMES
from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SIZE = 2**24
"""No width, count or window of a model comes near it: more is a damaged file."""


class Fields:
    """One config object (the text model's), read by name.

    Args:
        data: The decoded object.
        where: What it is, for messages.
        defaults: What the model type makes an absent field mean.
    """

    def __init__(self, data: Mapping[str, Any], *, where: str, defaults: Mapping[str, Any]) -> None:
        self.data = data
        self.where = where
        self.defaults = defaults
        self.read: set[str] = set()

    def names(self, meaning: str) -> tuple[str, ...]:
        """The names of a field."""
        return NAMES.get(meaning, (meaning,))

    def value(self, meaning: str) -> Any:  # noqa: ANN401 - any JSON
        """The field's value under any of its names, then the type's default; None where nothing is said."""
        names = self.names(meaning)
        self.read.update(names)
        given = next((self.data[name] for name in names if self.data.get(name) is not None), None)
        if given is not None:
            return given
        if any(name in self.data for name in names):
            return None
        return next((self.defaults[name] for name in names if self.defaults.get(name) is not None), None)

    def said(self, meaning: str) -> bool:
        """Whether the config itself gives the field a value."""
        return any(self.data.get(name) is not None for name in self.names(meaning))

    def size(self, meaning: str, *, least: int = 1, most: int = MAX_SIZE) -> int:
        """A whole number that has to be there."""
        found = self.optional_size(meaning, least=least, most=most)
        if found is None:
            raise self.refusal(meaning, "missing")
        return found

    def optional_size(self, meaning: str, *, least: int = 0, most: int = MAX_SIZE) -> int | None:
        """A whole number, None where nothing is said."""
        found = self.value(meaning)
        if found is None:
            return None
        if isinstance(found, list) and found and all(each == found[0] for each in found):
            found = found[0]
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
            raise self.refusal(meaning, shown(found), known=f"a whole number from {least} to {most}")
        return found

    def entry(self, meaning: str, index: int, length: int) -> int:
        """One whole number of a list that has one for each layer."""
        listed = self.items(meaning, length) or []
        found = listed[index]
        if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= MAX_SIZE:
            raise self.refusal(meaning, shown(found), known=f"whole numbers from 1 to {MAX_SIZE}")
        return found

    def agreeing_size(self, meaning: str) -> int | None:
        """As `optional_size`; two names for one thing have to say the same."""
        given = {name: self.data[name] for name in self.names(meaning) if self.data.get(name) is not None}
        if len({shown(value) for value in given.values()}) > 1:
            said = ", ".join(f"{name} {shown(value)}" for name, value in given.items())
            raise ServingSimError(f"{said}: names of one thing that disagree", path=self.where)
        return self.optional_size(meaning)

    def flag(self, meaning: str, *, default: bool = False) -> bool:
        """A truth value."""
        found = self.value(meaning)
        if found is None:
            return default
        if not isinstance(found, bool | int):
            raise self.refusal(meaning, shown(found), known="true or false")
        return bool(found)

    def text(self, meaning: str) -> str | None:
        """A string, None where nothing is said."""
        found = self.value(meaning)
        if found is not None and not isinstance(found, str):
            raise self.refusal(meaning, shown(found), known="a string")
        return found

    def items(self, meaning: str, length: int | None = None) -> list[Any] | None:
        """A list, of that many entries."""
        found = self.value(meaning)
        if found is None:
            return None
        if not isinstance(found, list) or (length is not None and len(found) != length):
            count = f" with {len(found)} entries" if isinstance(found, list) else ""
            raise self.refusal(
                meaning, f"{shown(found)}{count}", known=f"a list of {length or 'any'} entries"
            )
        return found

    def part(self, meaning: str) -> Fields | None:
        """A nested object, None where there is none."""
        found = self.value(meaning)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise self.refusal(meaning, shown(found), known="an object")
        return Fields(found, where=f"{self.where} {meaning}", defaults=self.defaults.get(meaning) or {})

    def over(self, data: Mapping[str, Any]) -> Fields:
        """The same with other data: what is read there counts as read here."""
        other = Fields(data, where=self.where, defaults=self.defaults)
        other.read = self.read
        return other

    def refusal(self, meaning: str, said: str, *, known: str = "") -> ServingSimError:
        """An error that names the field as the config calls it."""
        names = self.names(meaning)
        name = next((name for name in names if name in self.data), names[0])
        others = [other for other in names if other != name]
        hint = f"it may also be called {', '.join(others)}" if said == "missing" and others else ""
        return ServingSimError(f"{name}: {said}", known=known, hint=hint, path=self.where)
