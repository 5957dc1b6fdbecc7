"""One reading in progress: the text model's fields, what its type means, and what turned out to be unsaid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from servingsim.archs.explore.fields import Fields
    from servingsim.archs.explore.traits import Traits


@dataclass
class Reading:
    """What the readers of the parts share.

    Attributes:
        model_type: The text model's type.
        fields: Its fields.
        traits: What the type means.
        num_layers: Decoder layers.
        unknown: Facts that nothing says, in the order they were missed.
    """

    model_type: str
    fields: Fields
    traits: Traits
    num_layers: int = 0
    unknown: list[str] = field(default_factory=list)

    def overrides(self) -> dict[int, dict[str, Any]] | None:
        """What differs on single layers (`per_layer_config`), None where the config does not list it."""
        listed = self.fields.part("per_layer_config")
        if listed is None:
            return None
        numbered = {
            int(name): value for name, value in listed.data.items() if name.isdecimal() and len(name) < 5
        }
        return {layer: value for layer, value in numbered.items() if isinstance(value, dict)}

    def over(self, own: dict[str, Any]) -> Reading:
        """The reading of one layer with fields of its own."""
        # Where layers are listed one by one, the type's rules for a kind of layer are already in the list.
        by_kind = {"global_head_dim": None, "num_global_key_value_heads": None}
        return replace(self, fields=self.fields.over({**self.fields.data, **by_kind, **own}))

    def trait(self, name: str) -> bool:
        """A trait: the type's constant, or the field that decides it; unsaid for an unknown type is named."""
        given: Any = getattr(self.traits, name)
        if isinstance(given, bool):
            if not self.traits.known and not given:
                self.miss(name)
            return given
        if not self.traits.known and not self.fields.said(given):
            self.miss(name)
        return self.fields.flag(given)

    def miss(self, name: str) -> None:
        """Note a fact that the config does not say."""
        if name not in self.unknown:
            self.unknown.append(name)
