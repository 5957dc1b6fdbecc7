"""Latent attention, by hand: expanded to prefill, absorbed to decode, absorbed everywhere with an indexer."""

from __future__ import annotations

from dataclasses import replace

from servingsim.bounds.general import necessary_work
from servingsim.bounds.sizes import GeneralModel, Indexer, Latent, Layers, Ranks
from servingsim.bounds.tally import GeneralWork, Part

MLA = Latent(
    num_heads=4, q_rank=6, kv_rank=8, nope_dim=3, rope_dim=2, v_dim=5, weight_bytes=1, absorbed_bytes=2, cache_bytes=2
)  # fmt: skip
HIDDEN, LAYERS = 10, 3
UP = 8 * 4 * (3 + 5)
"""Weights that expand the latent for all heads."""


def work(mixer: Latent, prefill: list[tuple[int, int, bool]], decode: list[int], tp: int = 1) -> GeneralWork:
    """Of a model that is nothing but this attention."""
    layers = (Layers("layers", LAYERS, mixer, None),)
    return necessary_work(GeneralModel(HIDDEN, 16, layers, 2, 2, Ranks(tp=tp)), prefill, decode)


def part(found: GeneralWork, name: str) -> Part:
    """The part of that name."""
    (one,) = [each for each in found.parts if each.name == name]
    return one


def test_a_prefill_expands_cached_latents_too_and_attends_to_whole_heads() -> None:
    """Defect: a chunk after a long prefix without the product that expands the prefix."""
    found = work(MLA, [(3, 7, True)], [])
    assert part(found, "mixer.kv_b").flops == 2 * UP * (3 + 7)
    assert part(found, "mixer.kv_b.absorbed") == Part("mixer.kv_b.absorbed", "layers", "gemm", count=LAYERS)
    assert part(found, "mixer.core.prefill").flops == 2 * 4 * (3 + 2 + 5) * (8 + 9 + 10)
    assert part(found, "mixer.core.prefill").read_bytes == (8 + 2) * 2 * 7
    assert found.written_bytes() == LAYERS * (8 + 2) * 2 * 3


def test_a_decode_step_attends_to_latents_that_all_heads_share() -> None:
    """Defect: decode priced on expanded heads, or the latent read once a head."""
    found = work(MLA, [], [11, 21])
    assert part(found, "mixer.kv_b").flops == 0
    assert part(found, "mixer.kv_b").weight_bytes == 0
    assert part(found, "mixer.kv_b.absorbed").flops == 2 * UP * 2
    assert part(found, "mixer.kv_b.absorbed").weight_bytes == UP * 2
    assert part(found, "mixer.core.absorbed.decode").flops == 2 * 4 * (2 * 8 + 2) * 32
    assert found.read_bytes() == LAYERS * (8 + 2) * 2 * (10 + 20)


def test_queries_without_a_latent_of_their_own_are_projected_at_once() -> None:
    """Defect: a model without q_lora_rank refused, or counted with a projection of width 0."""
    found = work(replace(MLA, q_rank=0), [(2, 0, True)], [])
    assert part(found, "mixer.q").flops == 2 * 2 * HIDDEN * 4 * (3 + 2)
    assert not [each for each in found.parts if each.name.startswith("mixer.q_")]


def test_ranks_divide_heads_but_keep_latents_and_the_projections_down() -> None:
    """Defect: a latent cache divided by tp, which every rank holds whole."""
    one, four = (work(MLA, [], [50], tp=tp) for tp in (1, 4))
    assert part(four, "mixer.core.absorbed.decode").flops * 4 == part(one, "mixer.core.absorbed.decode").flops
    for name in ("mixer.q_a", "mixer.kv_a"):
        assert part(four, name) == part(one, name)
    assert part(four, "mixer.q_b").flops * 4 == part(one, "mixer.q_b").flops
    assert four.read_bytes() == one.read_bytes()


def test_a_plain_implementation_expands_every_key_in_every_step() -> None:
    """Defect: an eager model judged by the absorbed form that only engines use."""
    found = work(replace(MLA, form="expanded"), [(2, 4, True)], [9])
    assert part(found, "mixer.kv_b").flops == 2 * UP * (2 + 4 + 9)
    assert part(found, "mixer.kv_b").weight_bytes == UP
    assert part(found, "mixer.core.decode").flops == 2 * 4 * (3 + 2 + 5) * 9
    assert part(found, "mixer.core.decode").read_bytes == (8 + 2) * 2 * 8


def test_an_indexer_scores_every_key_and_attention_sees_the_best_of_them() -> None:
    """Defect: sparse attention counted as full attention, or without what chooses the keys."""
    indexer = Indexer(heads=2, head_dim=7, topk=5, weight_bytes=1, gate_bytes=2, cache_bytes=1)
    found = work(replace(MLA, indexer=indexer), [(2, 8, True)], [30])
    assert part(found, "mixer.core.absorbed.decode").flops == 2 * 4 * (2 * 8 + 2) * 5
    assert part(found, "mixer.core.absorbed.decode").read_bytes == (8 + 2) * 2 * 4
    assert part(found, "mixer.core.absorbed.prefill").flops == 2 * 4 * (2 * 8 + 2) * (5 + 5)
    assert part(found, "mixer.index.decode").flops == 2 * 2 * 7 * 30
    assert part(found, "mixer.index.prefill").flops == 2 * 2 * 7 * (9 + 10)
    assert part(found, "mixer.index.decode").read_bytes == 7 * 29
    assert part(found, "mixer.index_q").flops == 2 * 3 * 6 * 2 * 7
    assert part(found, "mixer.kv_b").flops == 0
    assert part(found, "mixer.kv_b.absorbed").flops == 2 * UP * 3


def test_the_least_form_takes_for_each_chunk_the_one_that_costs_less() -> None:
    """Defect: a bound that an engine beats, since it expands a long prefix for a few new tokens."""
    big = replace(MLA, q_rank=0, kv_rank=16, nope_dim=8, rope_dim=2, v_dim=8)
    for chunk in ((1, 0, True), (500, 0, True), (1, 5000, True), (4, 90, True), (400, 300, True)):
        engine, least = (work(replace(big, form=form), [chunk], []) for form in ("engine", "least"))
        absorbed = LAYERS * 2 * 4 * (2 * 16 + 2) * sum(range(chunk[1] + 1, chunk[1] + chunk[0] + 1))
        expanded = engine.flops_of("attention") + LAYERS * 2 * chunk[1] * 4 * 16 * (8 + 8)
        saved = engine.flops - least.flops
        assert saved == max(expanded - absorbed, 0), chunk


def test_the_least_form_reads_one_copy_of_the_projection_up() -> None:
    """Defect: a bound with the second, unquantised copy that engines keep for decode."""
    mixed = work(replace(MLA, form="least"), [(500, 0, True)], [7])
    assert part(mixed, "mixer.kv_b").weight_bytes + part(mixed, "mixer.kv_b.absorbed").weight_bytes == UP
    assert part(work(replace(MLA, form="least"), [], [7]), "mixer.kv_b.absorbed").weight_bytes == UP
