"""What an op shows to the layers above: its Config and the types of its public methods and attributes."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.timing.contract import KernelInput
from servingsim.validation import parse

if TYPE_CHECKING:
    from types import ModuleType

CAPACITY = re.compile(r"^max_|requests?$|seqs?$|batch")
"""Config fields that say how much an iteration may hold: no leaf may depend on them."""
KERNEL_INPUT = re.compile(r"\b(?!SlotInput\b)\w*Input\b")


def config_of(module: ModuleType, values: dict[str, Any]) -> Any:  # noqa: ANN401 - the op's own class
    """The op's Config from an example; lists become tuples.

    Raises:
        ServingSimError: E_INPUT, the module has no `<Class>Config`, or the example does not fit it.
    """
    name = f"{module.OP.__name__}Config"
    cls = getattr(module, name, None)
    if not isinstance(cls, type):
        raise ServingSimError(f"defines no class {name}", code="E_STATE", hint=f"name the Config {name}")
    if not dataclasses.is_dataclass(cls):
        return parse(cls, values, where="config_example")
    given = {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}
    try:
        return cls(**given)
    except TypeError as error:
        raise ServingSimError(str(error), path="config_example", known=", ".join(field_types(cls))) from error


def field_types(cls: type[Any]) -> dict[str, str]:
    """The Config's fields with their types, as written."""
    if dataclasses.is_dataclass(cls):
        return {
            each.name: each.type if isinstance(each.type, str) else getattr(each.type, "__name__", "?")
            for each in dataclasses.fields(cls)
        }
    fields = getattr(cls, "model_fields", {})
    return {
        name: getattr(field.annotation, "__name__", str(field.annotation)) for name, field in fields.items()
    }


def replaced(config: Any, **changes: Any) -> Any:  # noqa: ANN401 - the op's own class
    """A copy with some other values."""
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        return dataclasses.replace(config, **changes)
    return config.model_copy(update=changes)


def grown(config: Any) -> Any:  # noqa: ANN401 - the op's own class
    """The Config with every capacity doubled; None where it has none, or where that does not fit it."""
    found = {
        name: 2 * getattr(config, name)
        for name in field_types(type(config))
        if CAPACITY.search(name) and type(getattr(config, name)) is int
    }
    try:
        return replaced(config, **found) if found else None
    except (ValueError, ServingSimError):
        return None


def exposed_inputs(module: ModuleType, op: Any) -> list[str]:  # noqa: ANN401 - the op's own class
    """Places where the op's outside names an Input of one of its kernels (INV-3.5-3)."""
    cls = module.OP
    names = {
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, KernelInput)
    }
    texts = {
        f"Config.{name}": text for name, text in field_types(getattr(module, f"{cls.__name__}Config")).items()
    }
    texts |= {f"{cls.__name__}.{name}": str(text) for name, text in inspect.get_annotations(cls).items()}
    for name, member in inspect.getmembers(cls, callable):
        if not name.startswith("_"):
            found = inspect.get_annotations(inspect.unwrap(member))
            texts |= {f"{name}({parameter})": str(text) for parameter, text in found.items()}
    shown = [place for place, text in texts.items() if _names_one(text, names)]
    held = [
        f"{name} (a value)"
        for name, value in getattr(op, "__dict__", {}).items()
        if isinstance(value, KernelInput)
    ]
    return sorted(shown + held)


def _names_one(text: str, names: set[str]) -> bool:
    return bool(KERNEL_INPUT.search(text)) or any(
        re.search(rf"\b{re.escape(name)}\b", text) for name in names
    )
