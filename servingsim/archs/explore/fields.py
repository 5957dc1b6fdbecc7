"""A config's fields read by meaning: any of its names, checked as they are read, with the model type's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SIZE = 2**24
"""No width, count or window of a model comes near it: more is a damaged file."""

NAMES: dict[str, tuple[str, ...]] = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "model_dim"),
    "num_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "num_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "num_kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels"),
    "intermediate_size": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "inner_dim"),
    "vocab_size": ("vocab_size", "padded_vocab_size"),
    "max_positions": (
        "max_position_embeddings",
        "n_positions",
        "max_seq_len",
        "seq_length",
        "max_sequence_length",
    ),
    "activation": (
        "hidden_act",
        "hidden_activation",
        "activation_function",
        "hidden_activate_fn",
        "mlp_hidden_act",
    ),
    "num_experts": (
        "num_experts",
        "num_local_experts",
        "n_routed_experts",
        "moe_num_experts",
        "num_moe_experts",
        "ffn_num_experts",
    ),
    "top_k": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "moe_topk",
        "moe_k",
        "moe_top_k",
        "top_k_experts",
    ),
    "expert_size": ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"),
    "num_shared": ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
    "shared_size": (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        "share_expert_dim",
    ),
    "first_dense": ("first_k_dense_replace", "num_dense_layers", "n_dense_layers", "moe_layer_start_index"),
    "mamba_num_heads": ("mamba_num_heads", "mamba_n_heads"),
    "mamba_head_dim": ("mamba_head_dim", "mamba_d_head", "mamba_headdim"),
    "mamba_groups": ("n_groups", "mamba_n_groups", "mamba_ngroups"),
    "mamba_state": ("ssm_state_size", "mamba_d_state", "state_size"),
    "mamba_conv": ("conv_kernel", "mamba_d_conv"),
    "mamba_conv_bias": ("use_conv_bias", "mamba_conv_bias"),
    "window": ("sliding_window", "sliding_window_size", "attention_window_size"),
}
"""Meaning to the names that configs have for it, the usual one first."""


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

    def names(self, meaning: str) -> tuple[str, ...]:
        """The names of a field."""
        return NAMES.get(meaning, (meaning,))

    def value(self, meaning: str) -> Any:  # noqa: ANN401 - any JSON
        """The field's value under any of its names, then the type's default; None where nothing is said."""
        names = self.names(meaning)
        given = {name: self.data[name] for name in names if self.data.get(name) is not None}
        if given:
            return next(iter(given.values()))
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
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
            raise self.refusal(meaning, shown(found), known=f"a whole number from {least} to {most}")
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

    def refusal(self, meaning: str, said: str, *, known: str = "") -> ServingSimError:
        """An error that names the field as the config calls it."""
        names = self.names(meaning)
        name = next((name for name in names if name in self.data), names[0])
        others = [other for other in names if other != name]
        hint = f"it may also be called {', '.join(others)}" if said == "missing" and others else ""
        return ServingSimError(f"{name}: {said}", known=known, hint=hint, path=self.where)
