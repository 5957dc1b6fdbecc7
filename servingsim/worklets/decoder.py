"""The worklets of a dense decoder: embedding, attention section, MLP section, head.

Each takes one rank's shape (`partition`) and ends where the ranks meet. Sizes of elementwise ops are
elements a token, written beside the formula that they stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.ops.atomic import Op
from servingsim.timing.slot_inputs import CONTEXT_TOKENS
from servingsim.timing.work.amount import dtype_bytes
from servingsim.worklets.worklet import Part, Worklet

if TYPE_CHECKING:
    from servingsim.worklets.partition import DecoderShape
    from servingsim.worklets.site import BuildSite

RESIDUAL_ADD = "residual_add"


def embedding(site: BuildSite, rank: DecoderShape) -> Worklet:
    """Token ids to rows of the residual stream; each rank looks up its share of the vocabulary."""
    hidden = rank.hidden_size
    lookup = site.elementwise("embed.lookup", "embedding", read=hidden, written=hidden, dtype=rank.dtype)
    return Worklet("embed", (lookup, *_meeting(site, rank, "embed")))


def attention_section(site: BuildSite, rank: DecoderShape, layers: str, window_size: int) -> Worklet:
    """Norm, projections, rope, KV append, attention, output projection, and the ranks' sum."""
    at, hidden = f"{layers}.attention", rank.hidden_size
    attention = site.attention(at, rank, window_size)
    # Rows of a launch over both phases hold the append already.
    append = () if isinstance(attention, Op) else (_kv_append(site, rank, at),)
    parts: list[Part] = [
        _norm_before(site, rank, at),
        *_qkv(site, rank, at),
        *_qk_norms(site, rank, at),
        _rope(site, rank, at),
        *append,
        attention,
        site.gemm(f"{at}.o_proj", n=hidden, k=rank.q_size, dtype=rank.gemm_dtype),
        *_meeting(site, rank, at),
        *_residual(site, rank, at),
    ]
    return Worklet("attention", tuple(parts))


def mlp_section(site: BuildSite, rank: DecoderShape, layers: str) -> Worklet:
    """Norm, gate and up, activation, down, and the ranks' sum."""
    at, hidden, inter = f"{layers}.mlp", rank.hidden_size, rank.intermediate_size
    parts: list[Part] = [
        _norm_before(site, rank, at),
        *_gate_up(site, rank, at),
        *_activation(site, rank, at),
        site.gemm(f"{at}.down_proj", n=hidden, k=inter, dtype=rank.gemm_dtype),
        *_meeting(site, rank, at),
        *_residual(site, rank, at),
    ]
    return Worklet("mlp", tuple(parts))


def head(site: BuildSite, rank: DecoderShape) -> Worklet:
    """Final norm over all new tokens, lm_head over the sampled positions only."""
    hosts = (RESIDUAL_ADD,) if site.stack.residual_in_norm else ()
    final = site.norm("head.final_norm", hidden_size=rank.hidden_size, dtype=rank.dtype, hosts=hosts)
    lm_head = site.gemm(
        "head.lm_head", n=rank.vocab_size, k=rank.hidden_size, dtype=rank.dtype, sampled_only=True
    )
    if rank.tp == 1:
        return Worklet("head", (final, lm_head))
    gather = site.logits_gather(num_ranks=rank.tp, elements=rank.vocab_size, dtype=rank.dtype)
    return Worklet("head", (final, lm_head, gather))


def _norm_before(site: BuildSite, rank: DecoderShape, at: str) -> Op:
    hosts = (RESIDUAL_ADD,) if site.stack.residual_in_norm else ()
    return site.norm(f"{at}.norm", hidden_size=rank.hidden_size, dtype=rank.dtype, hosts=hosts)


def _qkv(site: BuildSite, rank: DecoderShape, at: str) -> tuple[Op, ...]:
    hidden, dtype = rank.hidden_size, rank.gemm_dtype
    if site.stack.fused_qkv:
        return (site.gemm(f"{at}.qkv_proj", n=rank.q_size + 2 * rank.kv_size, k=hidden, dtype=dtype),)
    sizes = {"q_proj": rank.q_size, "k_proj": rank.kv_size, "v_proj": rank.kv_size}
    return tuple(site.gemm(f"{at}.{name}", n=n, k=hidden, dtype=dtype) for name, n in sizes.items())


def _qk_norms(site: BuildSite, rank: DecoderShape, at: str) -> tuple[Op, ...]:
    """One row a head: queries, then keys."""
    if not rank.qk_norm:
        return ()
    rows = {"q_norm": rank.num_heads, "k_norm": rank.num_kv_heads}
    return tuple(
        site.norm(f"{at}.{name}", hidden_size=rank.head_dim, dtype=rank.dtype, rows=heads)
        for name, heads in rows.items()
    )


def _rope(site: BuildSite, rank: DecoderShape, at: str) -> Op:
    """Queries and keys are read, rotated and written; cos and sin are one shared row, left out."""
    rotated = rank.q_size + rank.kv_size
    return site.elementwise(f"{at}.rope", "rope", read=rotated, written=rotated, dtype=rank.dtype)


def _kv_append(site: BuildSite, rank: DecoderShape, at: str) -> Op:
    """Keys and values: new tokens into the pages at once, or twice the whole cache into a longer one."""
    kv, dtype = rank.kv_size, rank.dtype
    if site.stack.kv_append == "copy":
        # The cache may be narrower than the activations: count what is written in their elements.
        written = 2 * kv * dtype_bytes(rank.kv_dtype) / dtype_bytes(dtype)
        return site.elementwise(f"{at}.kv_append", "copy", read=2 * kv, written=written, dtype=dtype)
    return site.elementwise(
        f"{at}.kv_append",
        "cat",
        read=kv,
        written=kv,
        dtype=rank.kv_dtype,
        slot_input=CONTEXT_TOKENS,
        launches=2,
    )


def _gate_up(site: BuildSite, rank: DecoderShape, at: str) -> tuple[Op, ...]:
    hidden, inter, dtype = rank.hidden_size, rank.intermediate_size, rank.gemm_dtype
    if site.stack.fused_gate_up:
        return (site.gemm(f"{at}.gate_up_proj", n=2 * inter, k=hidden, dtype=dtype),)
    names = ("gate_proj", "up_proj")
    return tuple(site.gemm(f"{at}.{name}", n=inter, k=hidden, dtype=dtype) for name in names)


def _activation(site: BuildSite, rank: DecoderShape, at: str) -> tuple[Op, ...]:
    """silu(gate) * up: gate and up are read, one product is written."""
    inter, dtype = rank.intermediate_size, rank.dtype
    if site.stack.fused_activation:
        return (site.elementwise(f"{at}.silu_mul", "silu_mul", read=2 * inter, written=inter, dtype=dtype),)
    return (
        site.elementwise(f"{at}.silu", "silu", read=inter, written=inter, dtype=dtype),
        site.elementwise(f"{at}.mul", "mul", read=2 * inter, written=inter, dtype=dtype),
    )


def _meeting(site: BuildSite, rank: DecoderShape, at: str) -> tuple[Op, ...]:
    """The all-reduce of the residual stream that more than one rank needs (INV-6.1)."""
    if rank.tp == 1:
        return ()
    name, elements = f"{at}.all_reduce", rank.hidden_size
    return (site.all_reduce(name, num_ranks=rank.tp, elements=elements, dtype=rank.dtype),)


def _residual(site: BuildSite, rank: DecoderShape, at: str) -> tuple[Op, ...]:
    """The addition of the section's output, unless the next norm has folded it."""
    if site.stack.residual_in_norm:
        return ()
    hidden = rank.hidden_size
    return (
        site.elementwise(f"{at}.{RESIDUAL_ADD}", "add", read=2 * hidden, written=hidden, dtype=rank.dtype),
    )
