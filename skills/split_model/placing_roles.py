"""What a captured kernel may be by its name, and which rows it may begin or belong to: suggestions, never proof."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from profiling.captures.categories import category_of

if TYPE_CHECKING:
    from skills.split_model.draft import Draft

GENERATED = re.compile(r"triton_(?:poi|red|per|tem)_fused(?P<ops>\w*)")
MOVES = re.compile(
    r"_?(?:_to_copy|to_copy|copy|clone|constant_pad_nd|moe_forward|view|reshape|slice|permute|transpose|expand"
    r"|unsqueeze|squeeze|cat|full|zeros|empty)(?=_|$)|_\d+$"
)
"""Operations that compute nothing; a generated kernel of these alone is a copy."""
PREPARES = (
    r"kv_indices|page_ind|page_table|metadata|slot_mapping|compute_slot|advance_step|prepare|resolve_future"
    r"|clamp_position|seq_?lens|multi_tensor_apply|bitwise"
)
OWN_RULES: tuple[tuple[str, str], ...] = (
    ("prepare", PREPARES),
    ("moe_gemm", r"finalize.{0,60}(?:moe|scatter)|moe.{0,60}finalize|moe_?sum|unpermute"),
    ("cat", r"catarray"),
    ("attention", r"reduce_segments"),
)
"""Told here rather than by the general categories: what a row of the table is asks for it."""
INSIDE_GENERATED: tuple[tuple[str, str], ...] = (
    ("norm", r"rsqrt"),
    ("activation", r"silu|gelu|sigmoid_mul|mul_silu"),
    ("embedding", r"embedding"),
)
COMPILED = tuple((role, re.compile(pattern, re.IGNORECASE)) for role, pattern in OWN_RULES)

COPIES = "alloc, fill, copy or launch preparation"
SAMPLING = "sampling"
PLUMBING = {
    "sampling": SAMPLING,
    "sort": SAMPLING,
    "copy": COPIES,
    "cat": COPIES,
    "fill": COPIES,
    "memcpy": COPIES,
    "memset": COPIES,
    "prepare": COPIES,
}
"""Roles that are framework plumbing wherever they stand."""
HEAVY_ROLES = {
    "gemm", "moe_gemm", "attention", "collective", "allreduce_norm", "gated_delta_rule", "mamba_scan", "moe_dispatch"
}  # fmt: skip
"""Never bookkeeping, wherever they stand."""
EAGER = ("pointwise", "norm", "rope", "activation")
"""Families whose eager launches are generic elementwise and reduction kernels."""
GENERIC = ("elementwise", "generated")
EAGER_PARTS = (*GENERIC, "norm", "cat", "activation")
"""Roles of the kernels that an eager norm or rotation is made of: `rsqrt`, the halves put together."""
EAGER_NORM = re.compile(r"pow_tensor")
"""What an eager norm begins with."""
CERTAIN, LIKELY, POSSIBLE = 10.0, 6.0, 3.0
BEGINS: dict[str, dict[str, float]] = {
    "gemm": {"gemm": CERTAIN},
    "moe_gemm": {"moe": CERTAIN},
    "moe_routing": {"routing": CERTAIN},
    "moe_dispatch": {"collective": CERTAIN},
    "attention": {"attention": CERTAIN},
    "kv_append": {"kv_append": CERTAIN},
    "rope": {"rope": CERTAIN},
    "norm": {"norm": CERTAIN},
    "add_norm": {"norm": CERTAIN},
    "allreduce_norm": {"collective": CERTAIN, "norm": POSSIBLE},
    "collective": {"collective": CERTAIN},
    "activation": {"activation": CERTAIN},
    "quantize": {},
    "embedding": {"embedding": CERTAIN},
    "gather": {"embedding": LIKELY},
    "gated_delta_rule": {"scan": CERTAIN},
    "mamba_scan": {"scan": CERTAIN},
    "causal_conv1d": {"conv": CERTAIN},
    "sampling": {"routing": POSSIBLE},
    "sort": {"routing": POSSIBLE},
    "elementwise": {"pointwise": POSSIBLE},
    "generated": {"pointwise": POSSIBLE},
}
"""How well a kernel of a role fits the first launch of a row of a family."""
FOLLOWS: dict[str, dict[str, float]] = {
    "gemm": {"gemm": 1.0},
    "moe_gemm": {"moe": 3.0},
    "moe_routing": {"routing": 3.0, "moe": 2.0},
    "activation": {"moe": 2.0},
    "attention": {"attention": 3.0},
    "kv_append": {"kv_append": 1.0},
    "rope": {"rope": 1.0},
    "collective": {"collective": 1.0},
    "gated_delta_rule": {"scan": 3.0},
    "mamba_scan": {"scan": 3.0},
    "norm": {"scan": 1.0},
    "causal_conv1d": {"conv": 1.0},
    "sampling": {"routing": 1.0},
    "sort": {"routing": 1.0, "moe": 1.0},
    "gather": {"routing": 1.0, "moe": 1.0},
}
"""How well it fits as a further launch of the row that the kernel before it is of."""
HELPERS = re.compile(r"split_?k.*reduc|reduc.*split_?k|workspace|combine", re.IGNORECASE)
"""Second kernels of one launch of a library."""
PRECEDES: dict[str, tuple[str, ...]] = {"quantize": ("gemm", "moe", "attention")}
"""Rows whose input a kernel of a role prepares, where the table has no row for that."""
WORDS = {"decode": r"decode|_dec_|splitkv|generation", "prefill": r"prefill|context|ragged|varlen_fwd"}


@lru_cache(maxsize=65536)
def role_of(name: str, cpu_op: str = "") -> str:
    """What a kernel's name and its host operation suggest; empty where they suggest nothing."""
    generated = GENERATED.match(name)
    if generated:
        return _generated(generated["ops"])
    own = next((role for role, pattern in COMPILED if pattern.search(name[:2000])), "")
    return own or category_of(name, cpu_op)[0]


def begins(role: str, name: str, draft: Draft, *, eager: bool) -> float:
    """How well a kernel fits a row as its first launch; 0 where it cannot be."""
    score = BEGINS.get(role, {}).get(draft.family, 0.0)
    if draft.op.endswith("_quant"):
        return CERTAIN if role == "quantize" else 0.0
    if role == "moe_gemm" and draft.maps_to.kind == "grouped_gemm":
        score = LIKELY
    if role in {"kv_append", "rope"} and draft.op.endswith("rope_append"):
        score = CERTAIN
    if role == "cat" and draft.maps_to.args.get("op") == "cat":
        score = LIKELY
    if eager and role in GENERIC and draft.family in EAGER:
        score = CERTAIN + POSSIBLE if draft.family == "norm" and EAGER_NORM.search(name) else POSSIBLE
    return score + _hints(role, name.lower(), draft) if score else 0.0


def follows(role: str, draft: Draft, *, eager: bool) -> float:
    """How well a kernel fits a row as a launch behind its first; 0 where it cannot be."""
    if eager and role in EAGER_PARTS and draft.family in EAGER:
        return 1.0
    if eager and draft.family == "moe" and role in {"gemm", *GENERIC}:
        return 1.0
    if role == "cat":
        return 2.0 if draft.maps_to.args.get("op") == "cat" else 0.0
    return FOLLOWS.get(role, {}).get(draft.family, 0.0)


def counts(role: str, name: str, draft: Draft) -> bool:
    """Whether a further kernel of a row is a launch of its own, and not a part of the unit that the row prices."""
    alike = BEGINS.get(role, {}).get(draft.family, 0.0) == CERTAIN
    return alike and FOLLOWS.get(role, {}).get(draft.family) == 1.0 and not HELPERS.search(name)


def tells_phase(name: str) -> str:
    """The phase that an attention kernel's name tells, empty where none or both."""
    told = [phase for phase, pattern in WORDS.items() if re.search(pattern, name, re.IGNORECASE)]
    return told[0] if len(told) == 1 else ""


def _hints(role: str, name: str, draft: Draft) -> float:
    """What the name says of one row rather than another of its family."""
    kind = draft.maps_to.kind
    if draft.family == "attention":
        windowed = bool(draft.maps_to.args.get("window_size")) or "chunked" in kind
        told = "sliding" in name or "window" in name or "swa" in name
        return 4.0 if told and windowed else -4.0 if told else 0.0
    if draft.family == "norm":
        return 2.0 if (role == "add_norm") == (kind == "fused_add_rms_norm") else 0.0
    if draft.family == "collective":
        gathers = "gather" in name or "reduce_scatter" in name
        return 4.0 if gathers == ("gather" in kind) else -4.0
    return 0.0


def _generated(ops: str) -> str:
    """Of a kernel whose name lists the operations that a compiler fused."""
    found = next((role for role, pattern in INSIDE_GENERATED if re.search(pattern, ops)), "")
    if found:
        return found
    rest, moved = MOVES.subn("", ops)
    while MOVES.search(rest):
        rest = MOVES.sub("", rest)
    return "copy" if moved and not re.search(r"[a-z]", rest) and re.search(r"[a-z]", ops) else "generated"
