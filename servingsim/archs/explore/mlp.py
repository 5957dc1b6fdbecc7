"""The MLP of a layer: dense, or routed experts with what runs beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.explore.softmax import shares_kv
from servingsim.archs.model_facts import Activation, DenseMlp, MoeMlp
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading

ACTIVATIONS: dict[str, Activation] = {
    "silu": "silu",
    "swish": "silu",
    "swiglu": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "gelu_python": "gelu",
    "quick_gelu": "gelu",
    "geglu": "gelu",
    "relu": "relu",
    "relu2": "relu2",
}
"""Names in configs to ours: one cost a name."""


def activation(reading: Reading) -> Activation:
    """Between the projections."""
    if reading.model_type == "gpt_oss":
        return "swigluoai"
    said = reading.fields.text("activation")
    if said is None or said not in ACTIVATIONS:
        reading.miss("activation")
        return "unknown"
    return ACTIVATIONS[said]


def dense_mlp(reading: Reading, layer: int) -> DenseMlp:
    """The MLP of a layer without experts."""
    return DenseMlp(
        intermediate_size=dense_width(reading, layer),
        gated=reading.traits.gated,
        activation=activation(reading),
        bias=reading.trait("mlp_bias"),
    )


def dense_width(reading: Reading, layer: int) -> int:
    """Stated (for all layers or each), or so many hidden sizes where the type's own code says so."""
    fields, traits = reading.fields, reading.traits
    listed = fields.value("intermediate_size")
    if isinstance(listed, list) and traits.dense_width == "intermediate_size":
        return fields.entry("intermediate_size", layer, reading.num_layers)
    if traits.dense_width != "intermediate_size" and fields.value(traits.dense_width):
        return fields.size(traits.dense_width)
    if listed is None and traits.mlp_multiple:
        return fields.size("hidden_size") * (
            fields.optional_size("expansion_ratio", least=1) or traits.mlp_multiple
        )
    if fields.flag("use_double_wide_mlp") and shares_kv(reading, layer):
        return 2 * fields.size("intermediate_size")
    # The first Qwen counts gate and up together.
    return fields.size("intermediate_size") // (2 if reading.model_type == "qwen" else 1)


def moe_mlp(reading: Reading, layer: int) -> MoeMlp:
    """Routed experts; their width is never taken from `intermediate_size` unless the type says so."""
    fields, traits = reading.fields, reading.traits
    experts, top_k = fields.size("num_experts", most=2**16), fields.size("top_k", most=2**16)
    if top_k > experts:
        raise ServingSimError(f"{top_k} experts a token of {experts} experts", path=fields.where)
    width = fields.size(traits.expert_width)
    return MoeMlp(
        num_experts=experts,
        top_k=top_k,
        expert_size=width,
        shared_size=_shared_size(reading, width),
        shared_gate=traits.shared_gate,
        gated=traits.gated,
        activation=activation(reading),
        expert_bias=reading.trait("expert_bias"),
        router_bias=reading.trait("router_bias"),
        correction_bias=reading.trait("correction_bias"),
        latent_size=fields.optional_size("moe_latent_size") or 0,
        parallel_dense=dense_mlp(reading, layer) if fields.flag("enable_moe_block") else None,
    )


def _shared_size(reading: Reading, width: int) -> int:
    """Of all shared experts together: stated as a width, or as a number of experts."""
    fields = reading.fields
    count = fields.optional_size("num_shared")
    if reading.model_type == "llama4_text":
        return width
    stated = fields.optional_size("shared_size")
    if stated is not None:
        return stated * (1 if count is None else count)
    return (count or 0) * width
