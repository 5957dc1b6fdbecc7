"""Necessary work of grouped-query attention, one layer on one rank; and what any attention needs of its keys.

Softmax(q k^T) v over the pairs of a query and a visible key: as many multiply-adds a head and pair as a key and a
value have elements (Vaswani et al. 2017). Cached keys are read once, however many queries see them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.bounds.linear import linear
from servingsim.bounds.tally import Part

if TYPE_CHECKING:
    from servingsim.bounds.sizes import Ranks, Softmax
    from servingsim.bounds.tally import Nature, Step
    from servingsim.bounds.visible import Sight


def softmax_parts(mixer: Softmax, hidden: int, ranks: Ranks, step: Step) -> list[Part]:
    """Grouped-query attention: heads are divided; a KV head is not divided further, but copied beyond that."""
    heads, kv_heads = mixer.num_heads / ranks.tp, max(mixer.num_kv_heads / ranks.tp, 1)
    keys, values = kv_heads * mixer.head_dim, kv_heads * mixer.v_head_dim
    queries = heads * mixer.head_dim * (2 if mixer.gated else 1)
    projected = (0 if mixer.kv_shared else keys) + (0 if mixer.k_is_v or mixer.kv_shared else values)
    a_pair, a_key = 2 * heads * (mixer.head_dim + mixer.v_head_dim), (keys + values) * mixer.cache_bytes
    return [
        linear("mixer.qkv", step.tokens, hidden, queries + projected, mixer.weight_bytes),
        *over_keys(
            "mixer.core", "attention", mixer.sight, step, a_pair=a_pair, a_key=a_key, own=not mixer.kv_shared
        ),
        linear("mixer.o", step.tokens, heads * mixer.v_head_dim, hidden, mixer.weight_bytes),
    ]


def over_keys(
    name: str, nature: Nature, sight: Sight, step: Step, *, a_pair: float, a_key: float, own: bool = True
) -> list[Part]:
    """What queries of both phases do with the keys that they see.

    Args:
        name: Of the parts, before the phase.
        nature: Of the parts.
        sight: Keys that a query sees.
        step: The iteration.
        a_pair: FLOPs for a query and a key.
        a_key: Bytes in the cache.
        own: Whether new keys are written here; else an earlier layer wrote them, and they are read like cached ones.
    """
    read, written = (0, 1) if own else (1, 0)
    prefill = Part(
        f"{name}.prefill", "", nature,
        flops=a_pair * sight.prefill_pairs(step.prefill),
        read_bytes=a_key * (sight.prefill_cached(step.prefill) + read * step.prefill_tokens),
        written_bytes=a_key * written * step.prefill_tokens,
    )  # fmt: skip
    decode = Part(
        f"{name}.decode", "", nature,
        flops=a_pair * sight.decode_pairs(step.decode),
        read_bytes=a_key * (sight.decode_cached(step.decode) + read * len(step.decode)),
        written_bytes=a_key * written * len(step.decode),
    )  # fmt: skip
    return [prefill, decode]
