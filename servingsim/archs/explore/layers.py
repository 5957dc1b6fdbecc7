"""Each layer's mixer and MLP, read one by one: layers of equal cost are classed afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.explore.classes import Layer
from servingsim.archs.explore.extras import layer_extra, norms_of
from servingsim.archs.explore.latent import latent_attention, linear_attention, mamba2
from servingsim.archs.explore.layout import mixer_types
from servingsim.archs.explore.mlp import dense_mlp, moe_mlp
from servingsim.archs.explore.softmax import softmax_attention
from servingsim.archs.explore.sparse import sparse_layers
from servingsim.archs.explore.windows import reachable, with_positions

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading
    from servingsim.archs.model_facts import Mixer, Mlp

MAX_LAYERS = 2**12


def num_layers(reading: Reading) -> int:
    """Stated, or the length of the pattern or list that names them."""
    fields = reading.fields
    pattern = fields.text("hybrid_override_pattern")
    if pattern:
        return len(pattern)
    listed = fields.items("layers_block_type")
    if listed and fields.value("num_layers") is None:
        return len(listed)
    return fields.size("num_layers", most=MAX_LAYERS)


def read_layers(reading: Reading) -> list[Layer]:
    """All layers, first to last."""
    types, sparse = reachable(reading, mixer_types(reading)), sparse_layers(reading)
    kinds = list(zip(types, sparse, with_positions(reading), strict=True))
    overrides = reading.overrides()
    own = [reading if overrides is None else reading.over(overrides.get(i, {})) for i in range(len(kinds))]
    return [_layer(own[i], i, kind, routed=routed, rope=rope) for i, (kind, routed, rope) in enumerate(kinds)]


def _layer(reading: Reading, index: int, layer_type: str, *, routed: bool, rope: bool) -> Layer:
    mixer: Mixer | None = None
    mlp: Mlp | None = None
    if layer_type in {"moe", "mlp"}:
        mlp = moe_mlp(reading, index) if layer_type == "moe" else dense_mlp(reading, index)
    else:
        mixer = _mixer(reading, index, layer_type, rope=rope)
        if not reading.traits.single:
            mlp = moe_mlp(reading, index) if routed else dense_mlp(reading, index)
    return Layer(mixer, mlp, norms_of(reading, mlp), layer_extra(reading, mixer, mlp))


def _mixer(reading: Reading, index: int, layer_type: str, *, rope: bool) -> Mixer:
    described = reading.fields.value("mamba_num_heads") is not None
    if layer_type == "mamba" or (layer_type == "linear_attention" and described):
        return mamba2(reading)
    if layer_type == "linear_attention":
        return linear_attention(reading)
    if reading.fields.value("kv_lora_rank"):
        return latent_attention(reading, index)
    return softmax_attention(reading, layer=index, layer_type=layer_type, rope=rope)
