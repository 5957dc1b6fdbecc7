"""What a model type makes of its layers where no config field says so.

A trait is a constant, or the name of the config field that decides it (absent: no). Model types that no table
names are read by `UNKNOWN`: by their fields alone, and what no field says is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Trait = bool | str

Window = Literal["never", "always", "switched", "types"]
"""When `sliding_window` cuts: on no layer; on every layer; with `use_sliding_window` from `max_window_layers` on;
where `layer_types` or a pattern says so."""


@dataclass(frozen=True)
class Traits:
    """How a model type is built.

    Attributes:
        qk_norm: Norm over query and key heads.
        qk_norm_span: Weights of that norm: one head's (shared by all), those of `all` heads, or `none`.
        qkv_bias: Biases of q, k and v.
        o_bias: Bias of the output projection.
        mlp_bias: Biases of the MLP.
        gated: Whether the MLP has gate and up.
        norm: RMSNorm or LayerNorm.
        norm_bias: LayerNorm's biases.
        norms: Norms over the hidden size in a layer.
        single: A layer is either a mixer or an MLP.
        window: Which layers slide.
        pattern: One layer in so many attends to everything, where only that says which.
        mlp_multiple: The MLP's width in hidden sizes where the config is silent.
        expert_width: The field with an expert's width.
        dense_width: The field with the width of the layers without experts.
        shared_gate: Sigmoid gate on the shared experts.
        router_bias: Bias of the router.
        correction_bias: Selecting bias of the router.
        expert_bias: Biases in the experts.
        sinks: Learned attention sinks.
        output_gate: Gate on the attention's output.
        lm_head_bias: Bias of the lm_head.
        rope: Whether attention rotates at all; a learned table of positions stands in its place.
        positions: Rows that a learned table of positions has beside the longest context; None without a table.
        like: The type whose config class gives the defaults, where the type has none of its own.
        defaults: Fields that the type's own config class fills in, beside the extracted table.
        known: False for the traits of an unknown type.
    """

    qk_norm: Trait = False
    qk_norm_span: Literal["head", "all", "none"] = "head"
    qkv_bias: Trait = "attention_bias"
    o_bias: Trait = "attention_bias"
    mlp_bias: Trait = False
    gated: bool = True
    norm: Literal["rms", "layer"] = "rms"
    norm_bias: bool = False
    norms: int = 2
    single: bool = False
    window: Window = "types"
    pattern: int = 0
    mlp_multiple: int = 0
    expert_width: str = "expert_size"
    dense_width: str = "intermediate_size"
    shared_gate: bool = False
    router_bias: Trait = False
    correction_bias: Trait = False
    expert_bias: Trait = False
    sinks: bool = False
    output_gate: Trait = False
    lm_head_bias: Trait = False
    rope: bool = True
    positions: int | None = None
    like: str = ""
    defaults: Mapping[str, object] = field(default_factory=dict)
    known: bool = True


UNKNOWN = Traits(qk_norm="use_qk_norm", mlp_bias="mlp_bias", lm_head_bias="lm_head_bias", known=False)
"""A model type that no table names."""
