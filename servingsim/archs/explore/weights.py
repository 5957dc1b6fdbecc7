"""Bytes of a rank's weights: each part in the dtype that the checkpoint stores it in."""

from __future__ import annotations

import fnmatch
import math
import re
from typing import TYPE_CHECKING, Literal

from servingsim.archs.explore.parameters import (
    layer_parameters,
    mixer_parameters,
    mlp_parameters,
    parameters,
    projections,
)
from servingsim.archs.model_facts import LinearAttention, Mamba2, MoeMlp, SoftmaxAttention
from servingsim.errors import ServingSimError
from servingsim.timing.work.amount import dtype_bytes
from servingsim.worklets.partition import divided, kv_heads_per_rank

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LayerClass, ModelFacts
    from servingsim.timing.contract import Dtype

Part = Literal["attention", "mlp", "experts", "shared", "router", "lm_head"]

MODULES: dict[Part, tuple[str, ...]] = {
    "attention": (
        "self_attn.q_proj",
        "self_attn.qkv_proj",
        "linear_attn.in_proj_qkvz",
        "mixer.in_proj",
        "mixer.q_proj",
    ),
    "mlp": ("mlp.gate_proj", "mlp.gate_up_proj", "mlp.up_proj", "mixer.up_proj"),
    "experts": (
        "mlp.experts.0.gate_proj",
        "mlp.experts",
        "mixer.experts.0.up_proj",
        "block_sparse_moe.experts.0.w1",
    ),
    "shared": ("mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj", "mixer.shared_experts.up_proj"),
    "router": (),
    "lm_head": (),
}
"""Where checkpoints keep a part of a layer; routers and the lm_head are quantised by no method read here."""
SCALED_BYTES = {"mxfp4": 0.5 + 1 / 32, "nvfp4": 0.5 + 1 / 16}
"""Formats whose scales weigh: one byte for 32 or 16 elements. Others' are below 1 % (blocks and rows), and left out."""


def weight_dtype(facts: ModelFacts, part: Part, layer: int = 0) -> Dtype:
    """The dtype that a part of a layer is stored and multiplied in."""
    if facts.gemm_dtype == facts.dtype or not MODULES[part]:
        return facts.dtype
    paths = [f"model.layers.{layer}.{name}.weight" for name in MODULES[part]]
    kept = any(_matches(pattern, path) for pattern in facts.unquantised for path in paths)
    return facts.dtype if kept else facts.gemm_dtype


def _matches(pattern: str, path: str) -> bool:
    """As the methods write them: a regular expression after `re:`, a glob, or a part of the path."""
    if pattern.startswith("re:"):
        try:
            return re.search(pattern[3:], path.removesuffix(".weight")) is not None
        except re.error:
            return False
    bare = pattern.replace("language_model.", "")
    if "*" in bare:
        return fnmatch.fnmatchcase(path, f"*{bare.strip('*')}*")
    return f".{bare}." in f".{path}."


def weight_bytes(facts: ModelFacts, tp: int = 1, ep: int = 1) -> int:
    """Weights of one rank: heads, widths and vocabulary over tp; whole experts over ep, their widths over tp / ep.

    Norms, routers and down-projections to latents are replicated.

    Raises:
        ServingSimError: Something that does not divide, with both numbers.
    """
    if tp < 1 or ep < 1:
        raise ServingSimError(f"tp {tp}, ep {ep}", known="1 or more")
    counted = parameters(facts)
    tables = math.ceil(counted.embeddings / tp) + facts.outside_parameters + facts.hidden_size
    layers = sum(each.count * _layer_bytes(facts, each, tp, ep) for each in facts.layers)
    return round(layers + tables * dtype_bytes(facts.dtype))


def _layer_bytes(facts: ModelFacts, layer: LayerClass, tp: int, ep: int) -> float:
    mixer = _mixer_bytes(facts, layer, tp)
    mlp = _mlp_bytes(facts, layer, tp, ep)
    weights = mixer_parameters(layer.mixer, facts.hidden_size) + mlp_parameters(
        layer.mlp, facts.hidden_size, False
    )
    others = layer_parameters(facts, layer) - weights
    return mixer + mlp + others * dtype_bytes(facts.dtype)


def _mixer_bytes(facts: ModelFacts, layer: LayerClass, tp: int) -> float:
    mixer, size = layer.mixer, _stored(weight_dtype(facts, "attention", layer.indices[0]))
    whole = mixer_parameters(mixer, facts.hidden_size)
    if isinstance(mixer, SoftmaxAttention):
        divided(mixer.num_heads, tp, "num_attention_heads")
        kv = (
            facts.hidden_size
            * mixer.num_kv_heads
            * (mixer.head_dim + (0 if mixer.k_is_v else mixer.v_head_dim))
        )
        return (
            (whole - kv) / tp + kv * kv_heads_per_rank(mixer.num_kv_heads, tp) / mixer.num_kv_heads
        ) * size
    if mixer is None or isinstance(mixer, LinearAttention | Mamba2):
        return whole / tp * size
    divided(mixer.num_heads, tp, "num_attention_heads")
    down = facts.hidden_size * (mixer.q_lora_rank + mixer.kv_lora_rank + mixer.qk_rope_head_dim)
    return ((whole - down) / tp + down) * size


def _mlp_bytes(facts: ModelFacts, layer: LayerClass, tp: int, ep: int) -> float:
    mlp, first = layer.mlp, layer.indices[0]
    if not isinstance(mlp, MoeMlp):
        return mlp_parameters(mlp, facts.hidden_size, False) / tp * _stored(weight_dtype(facts, "mlp", first))
    inner = mlp.latent_size or facts.hidden_size
    experts = mlp.num_experts * projections(inner, mlp.expert_size, gated=mlp.gated, bias=mlp.expert_bias)
    shared = projections(facts.hidden_size, mlp.shared_size, gated=mlp.gated) if mlp.shared_size else 0
    dense = mlp_parameters(mlp.parallel_dense, facts.hidden_size, False)
    others = mlp_parameters(mlp, facts.hidden_size, False) - experts - shared - dense
    divided(mlp.num_experts, ep, "num_experts")
    share = 1 / (ep * max(tp // ep, 1))
    return (
        experts * share * _stored(weight_dtype(facts, "experts", first))
        + shared / tp * _stored(weight_dtype(facts, "shared", first))
        + dense / tp * _stored(weight_dtype(facts, "mlp", first))
        + others * dtype_bytes(facts.dtype)
    )


def _stored(dtype: Dtype) -> float:
    return SCALED_BYTES.get(dtype, dtype_bytes(dtype))
