"""Where Transformers computes what a row stands for: module names of the families, as patterns.

Names differ between families; a pattern fits all of them. What fits none is found by the check of completeness.
"""

from __future__ import annotations

from skills.split_model.draft import Cover

ATTENTION = (
    r"(?:.+\.)?(?:self_attn|attn|attention|self_attention|self|mixer|linear_attn|mamba|temporal_block)"
)
FEED_FORWARD = r"(?:.+\.)?(?:mlp|feed_forward|ffn|block_sparse_moe|moe|mixer|dense)"
ROTATION = (
    "apply_rotary_pos_emb",
    "rotate_half",
    "apply_rotary_emb",
    "apply_rotary_pos_emb_interleave",
    "_apply_rotary_emb",
    "rotate_every_two",
    "apply_multimodal_rotary_pos_emb",
    "yarn_get_mscale",
)
CACHE = ("update", "lazy_initialization", "get_mask_sizes", "update_conv_state", "update_recurrent_state")
SCORES = ("sdpa_attention_forward", "repeat_kv", "use_gqa_in_sdpa", "eager_attention_forward")
REGION_ATTENTION = "region.attention"
REGION_EXPERTS = "region.experts"
REGION_SCANS = ("region.gated_delta_rule", "region.mamba_scan")
REGION_CONV = "region.causal_conv1d"
REGIONS = (REGION_ATTENTION, REGION_EXPERTS, *REGION_SCANS, REGION_CONV)
PROJECTIONS = {
    "q": "q_proj|wq|query|q_linear",
    "k": "k_proj|wk|key|k_linear",
    "v": "v_proj|wv|value|v_linear",
    "qkv": "qkv_proj|query_key_value|c_attn|Wqkv|qkv|wqkv|in_proj_weight",
    "o": "o_proj|out_proj|wo|dense|c_proj|out_linear|output_proj",
    "gate": "gate_proj|w1|wi_0|linear_v",
    "up": "up_proj|w3|wi_1|fc1|c_fc|dense_h_to_4h|fc_in|linear_1",
    "gate_up": "gate_up_proj|gate_and_up_proj|wi|input_linear|dense_in",
    "down": "down_proj|w2|wo|fc2|c_proj|dense_4h_to_h|fc_out|linear_2|output_linear",
}
ROUTER = r"(?:.+\.)?(?:gate|router|router\..+|gate\..+|wg)"
SHARED = r"(?:.+\.)?shared_(?:experts?|mlp)"


def inside(module: str, leaves: str) -> Cover:
    """Everything in a submodule."""
    return Cover(pattern=rf"{module}\.(?:{leaves})(?:\..+)?")


def projected(*names: str) -> Cover:
    """Projections of a mixer."""
    return inside(ATTENTION, "|".join(PROJECTIONS[name] for name in names))


def fed_forward(*names: str) -> Cover:
    """Projections of a dense MLP."""
    return inside(FEED_FORWARD, "|".join(PROJECTIONS[name] for name in names))


def shared(*names: str) -> Cover:
    """Projections of the shared experts."""
    return inside(SHARED, "|".join(PROJECTIONS[name] for name in names))


def rotated() -> Cover:
    """The rotation by position."""
    return Cover(pattern=ATTENTION, functions=ROTATION, without=REGIONS)


def appended() -> Cover:
    """New keys and values into the cache."""
    return Cover(pattern=ATTENTION, functions=CACHE, without=REGIONS)


def attended(phase: str) -> Cover:
    """Scores, softmax and values, whole."""
    return Cover(pattern=ATTENTION, aten=(REGION_ATTENTION,), phase=phase)


def own(*, phase: str = "", aten: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Cover:
    """What a mixer computes in its own forward between its parts."""
    return Cover(
        pattern=ATTENTION,
        aten=aten,
        phase=phase,
        without=() if aten else (*REGIONS, *without),
        not_functions=(*ROTATION, *CACHE),
    )


def residual_sum(nth: int) -> Cover:
    """The nth addition of the layer itself."""
    return Cover(modules=("",), aten=("aten.add",), nth=nth)


def added_inside(section: str) -> Cover:
    """A residual that a section's own module adds."""
    module = FEED_FORWARD if section in {"mlp", "moe"} else ATTENTION
    return Cover(pattern=module, aten=("aten.add",), functions=("dropout_add",))


JOINED = Cover(modules=("",), aten=("aten.add_",), nth=0)
"""The two sections of a parallel block added in place, before the residual."""
