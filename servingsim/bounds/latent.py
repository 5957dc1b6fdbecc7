"""Necessary work of latent attention, one layer on one rank.

Multi-head latent attention (DeepSeek-V2 report, section 2.1) has two forms of one result. Expanded, keys and values
of every head are made of the latents by the projection up, those of cached tokens again in every chunk. Absorbed,
that projection is moved to the query and to the output, and all heads meet the latents themselves: as many
multiply-adds for a token, but 2 kv_rank + rope_dim instead of nope_dim + rope_dim + v_dim a pair. Engines expand to
prefill and absorb to decode; a plain implementation expands every key in every step. With an indexer
(DeepSeek-V3.2-Exp report) each query has keys of its own, so that all are absorbed; it scores every earlier key by
one product a head.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from servingsim.bounds.attention import over_keys
from servingsim.bounds.linear import linear
from servingsim.bounds.tally import Step
from servingsim.bounds.visible import Sight

if TYPE_CHECKING:
    from servingsim.bounds.sizes import Indexer, Latent, Ranks
    from servingsim.bounds.tally import Part
    from servingsim.bounds.visible import Prefill


def latent_parts(mixer: Latent, hidden: int, ranks: Ranks, step: Step) -> list[Part]:
    """Latent attention: heads are divided; the projections down, the latents and the indexer are every rank's own."""
    heads, width = mixer.num_heads / ranks.tp, mixer.weight_bytes
    queries, tokens = heads * (mixer.nope_dim + mixer.rope_dim), step.tokens
    if mixer.q_rank:
        down = linear("mixer.q_a", tokens, hidden, mixer.q_rank, width)
        found = [down, linear("mixer.q_b", tokens, mixer.q_rank, queries, width)]
    else:
        found = [linear("mixer.q", tokens, hidden, queries, width)]
    return [
        *found,
        linear("mixer.kv_a", tokens, hidden, mixer.kv_rank + mixer.rope_dim, width),
        *_attention(mixer, heads, step),
        *(_indexer_parts(mixer, mixer.indexer, hidden, step) if mixer.indexer else ()),
        linear("mixer.o", tokens, heads * mixer.v_dim, hidden, width),
    ]


def _attention(mixer: Latent, heads: float, step: Step) -> list[Part]:
    """Both forms: the projection up, and attention to what it leaves."""
    expanded, absorbed = _by_form(mixer, step)
    keys = sum(q + prefix for q, prefix, _ in expanded.prefill) + sum(expanded.decode)
    outputs, sight = heads * (mixer.nope_dim + mixer.v_dim), _sight(mixer)
    a_head, a_latent = _a_pair(mixer)
    a_key = (mixer.kv_rank + mixer.rope_dim) * mixer.cache_bytes
    up = linear("mixer.kv_b", keys, mixer.kv_rank, outputs, mixer.weight_bytes)
    moved = linear("mixer.kv_b.absorbed", absorbed.tokens, mixer.kv_rank, outputs, _moved_bytes(mixer, keys))
    return [
        up,
        moved,
        *over_keys("mixer.core", "attention", sight, expanded, a_pair=2 * heads * a_head, a_key=a_key),
        *over_keys(
            "mixer.core.absorbed", "attention", sight, absorbed, a_pair=2 * heads * a_latent, a_key=a_key
        ),
    ]


def _moved_bytes(mixer: Latent, expanded_keys: int) -> float:
    """An element of the absorbed projection: a copy of its own in engines, which the least does without."""
    if mixer.form == "least":
        return 0.0 if expanded_keys else mixer.weight_bytes
    return mixer.absorbed_bytes


def _by_form(mixer: Latent, step: Step) -> tuple[Step, Step]:
    """What is computed expanded, and what absorbed."""
    if mixer.form == "expanded":
        return step, Step((), ())
    chunks: dict[bool, list[Prefill]] = {False: [], True: []}
    for chunk in step.prefill:
        chunks[_absorbs(mixer, chunk)].append(chunk)
    return Step(tuple(chunks[False]), ()), replace(step, prefill=tuple(chunks[True]))


def _absorbs(mixer: Latent, chunk: Prefill) -> bool:
    if mixer.form == "engine":
        return mixer.indexer is not None
    pairs, (a_head, a_latent) = _sight(mixer).prefill_pairs([chunk]), _a_pair(mixer)
    return a_latent * pairs < a_head * pairs + chunk[1] * mixer.kv_rank * (mixer.nope_dim + mixer.v_dim)


def _a_pair(mixer: Latent) -> tuple[int, int]:
    """Multiply-adds of a head for a query and a key: expanded, absorbed."""
    return mixer.nope_dim + mixer.rope_dim + mixer.v_dim, 2 * mixer.kv_rank + mixer.rope_dim


def _sight(mixer: Latent) -> Sight:
    return Sight(mixer.indexer.topk if mixer.indexer else 0)


def _indexer_parts(mixer: Latent, indexer: Indexer, hidden: int, step: Step) -> list[Part]:
    """Scores of all earlier keys: one key a token, a weight a head and query."""
    queries, width = indexer.heads * indexer.head_dim, indexer.weight_bytes
    a_pair, a_key = 2 * queries, indexer.head_dim * indexer.cache_bytes
    return [
        linear("mixer.index_q", step.tokens, mixer.q_rank or hidden, queries, width),
        linear("mixer.index_k", step.tokens, hidden, indexer.head_dim, width),
        linear("mixer.index_weights", step.tokens, hidden, indexer.heads, indexer.gate_bytes),
        *over_keys("mixer.index", "indexer", Sight(), step, a_pair=a_pair, a_key=a_key),
    ]
