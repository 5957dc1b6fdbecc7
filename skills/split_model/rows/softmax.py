"""Grouped-query attention in all its forms: projections, norms of heads, rotation, cache, attention, output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.draft import Cover
from skills.split_model.rows.missing import CHUNKED_WHY, WIDE_VALUES_WHY
from skills.split_model.rows.modules import ATTENTION, appended, attended, inside, own, projected, rotated

if TYPE_CHECKING:
    from servingsim.archs.model_facts import SoftmaxAttention
    from skills.split_model.draft import Draft
    from skills.split_model.rows.writer import Rows

AT = "attention"
AXES = {"prefill": ["batch_size", "q_len", "prefix_len"], "decode": ["batch_size", "kv_len"]}


def softmax_rows(at: Rows, mixer: SoftmaxAttention) -> list[Draft]:
    """From the normalised input to the output projection."""
    return [
        *at.quantised(f"{AT}.qkv", at.hidden, "attention"),
        *_projections(at, mixer),
        *_head_norms(at, mixer),
        *_positions_and_cache(at, mixer),
        *_attention(at, mixer),
        *_gate(at, mixer),
        *at.quantised(f"{AT}.o", mixer.num_heads * mixer.v_head_dim, "attention"),
        *at.gemm(
            f"{AT}.o_proj",
            n=at.hidden,
            k=mixer.num_heads * mixer.v_head_dim,
            covers=(projected("o"),),
            math="linear: o",
            part="attention",
            bias=mixer.o_bias,
        ),
    ]


def widths(mixer: SoftmaxAttention) -> dict[str, int]:
    """Features of each projection: a gate lies beside the queries, values may be the keys, or another layer's."""
    parts = {
        "q": mixer.num_heads * mixer.head_dim * (2 if mixer.output_gate else 1),
        "k": mixer.num_kv_heads * mixer.head_dim,
        "v": mixer.num_kv_heads * mixer.v_head_dim,
    }
    if mixer.kv_shared:
        return {"q": parts["q"]}
    if mixer.k_is_v:
        del parts["v"]
    return parts


def _projections(at: Rows, mixer: SoftmaxAttention) -> list[Draft]:
    parts = widths(mixer)
    if at.merges("qkv"):
        return at.gemm(
            f"{AT}.qkv_proj",
            n=sum(parts.values()),
            k=at.hidden,
            covers=(projected("q", "k", "v", "qkv"),),
            math=f"linear: {', '.join(parts)}",
            part="attention",
            bias=mixer.qkv_bias,
        )
    return [
        row
        for name, width in parts.items()
        for row in at.gemm(
            f"{AT}.{name}_proj",
            n=width,
            k=at.hidden,
            math=f"linear: {name}",
            part="attention",
            covers=(projected("q", "qkv") if name == "q" else projected(name),),
            bias=mixer.qkv_bias,
        )
    ]


def _head_norms(at: Rows, mixer: SoftmaxAttention) -> list[Draft]:
    heads = {"q": mixer.num_heads, "k": mixer.num_kv_heads} if mixer.qk_norm else {}
    if mixer.kv_shared:
        heads.pop("k", None)
    elif mixer.v_norm:
        heads["v"] = mixer.num_kv_heads
    names = {
        "q": "q_norm|q_layernorm|query_layernorm",
        "k": "k_norm|k_layernorm|key_layernorm",
        "v": "v_norm",
    }
    # One module for queries and keys: its first call is of the queries.
    both = {
        "q": (Cover(pattern=rf"{ATTENTION}\.qk_norm", nth=0),),
        "k": (Cover(pattern=rf"{ATTENTION}\.qk_norm", nth=1),),
    }
    return [
        at.norm(
            f"{AT}.{name}_norm",
            size=mixer.v_head_dim if name == "v" else mixer.head_dim,
            rows=float(rows),
            covers=(inside(ATTENTION, names[name]), *both.get(name, ())),
        )
        for name, rows in heads.items()
    ]


def _positions_and_cache(at: Rows, mixer: SoftmaxAttention) -> list[Draft]:
    """Rotation and the write of new keys and values: two launches, or one where the stack does both."""
    own_keys = 0 if mixer.kv_shared else mixer.num_kv_heads
    rotated_size = (mixer.num_heads + own_keys) * mixer.head_dim
    key_and_value = mixer.num_kv_heads * (mixer.head_dim + mixer.v_head_dim)
    kv_written = key_and_value * dtype_bytes(at.site.rank.kv_dtype) / dtype_bytes(at.dtype)
    if at.merges("rope_append") and own_keys:
        math = (
            "rotates queries and keys where the layer does, writes keys and values into pages, in one launch"
        )
        value_read = mixer.num_kv_heads * mixer.v_head_dim
        written = mixer.num_heads * mixer.head_dim + kv_written
        return [
            at.elementwise(
                f"{AT}.rope_append",
                "rope",
                math,
                read=rotated_size + value_read,
                written=written,
                covers=(rotated(), appended()),
            )
        ]
    rope = at.elementwise(
        f"{AT}.rope",
        "rope",
        "rotates queries and keys by position",
        read=rotated_size,
        written=rotated_size,
        covers=(rotated(),),
    )
    return [
        *([rope] if mixer.rope else []),
        *([kv_append(at, key_and_value, kv_written)] if own_keys else []),
    ]


def kv_append(at: Rows, elements: int, written: float) -> Draft:
    """New keys and values into the pages, or the whole cache copied twice into a longer one."""
    if at.site.catalogue.kv_append == "copy":
        math = "keys and values of the new tokens into the cache"
        return at.elementwise(
            f"{AT}.kv_append",
            "copy",
            math,
            read=elements,
            written=written,
            family="kv_append",
            covers=(appended(),),
        )
    math = "the cache and the new tokens, copied together: keys, then values"
    return at.elementwise(
        f"{AT}.kv_append",
        "cat",
        math,
        read=elements / 2,
        written=elements / 2,
        dtype=at.site.rank.kv_dtype,
        family="kv_append",
        counted="context",
        launches=2,
        covers=(appended(),),
    )


def _attention(at: Rows, mixer: SoftmaxAttention) -> list[Draft]:
    """Scores, softmax and values as one unit, a launch of its own for prefill and for decode."""
    window = mixer.window_size
    args: dict[str, Any] = {
        "num_heads": mixer.num_heads,
        "num_kv_heads": mixer.num_kv_heads,
        "head_dim": mixer.head_dim,
        "dtype": at.dtype,
        "kv_dtype": at.site.rank.kv_dtype,
        "window_size": window,
    }
    prefix, why = "", ""
    if mixer.chunked:
        prefix, why = "chunked_", CHUNKED_WHY
    elif mixer.v_head_dim != mixer.head_dim:
        prefix, why = "wide_value_", WIDE_VALUES_WHY
        args["v_head_dim"] = mixer.v_head_dim
    math = "softmax(q k^T) v, causal"
    if window:
        math += f", {'chunks of' if mixer.chunked else 'window'} {window}"
    if mixer.sinks:
        math += ", with a learned logit a head in the softmax"
    return [
        at.kernel(
            f"{AT}.{phase}",
            f"{prefix}attention_{phase}",
            args,
            AXES[phase],
            why=why,
            until_then=f"attention_{phase}",
            family="attention",
            math=math,
            counted=phase,
            covers=(attended(phase),),
        )
        for phase in ("prefill", "decode")
        if phase in at.site.phases
    ]


def _gate(at: Rows, mixer: SoftmaxAttention) -> list[Draft]:
    if not mixer.output_gate:
        return []
    size = mixer.num_heads * mixer.v_head_dim
    covers = (own(aten=("aten.sigmoid", "aten.mul")), Cover(pattern=rf"{ATTENTION}\.g_proj"))
    return [
        at.elementwise(
            f"{AT}.output_gate",
            "sigmoid_mul",
            "sigmoid(gate) times the output",
            read=2 * size,
            written=size,
            covers=covers,
        )
    ]
