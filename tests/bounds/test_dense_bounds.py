"""The accountant of necessary work, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from servingsim.bounds.dense import DenseModel, bound, necessary_work

TINY = DenseModel(
    layers=((2, 0),),
    hidden_size=4,
    num_heads=2,
    num_kv_heads=1,
    head_dim=3,
    intermediate_size=5,
    vocab_size=7,
    layer_weight_bytes=2,
    embedding_bytes=2,
    kv_bytes=2,
)
LAYER = 4 * (2 * 6 + 2 * 3) + 3 * 4 * 5


def test_a_prefill_of_three_by_hand() -> None:
    work = necessary_work(TINY, [(3, 0, True)], [])
    assert work.gemm_flops == 2 * (3 * 2 * LAYER + 1 * 28)
    assert work.attention_flops == 2 * 4 * 2 * 3 * (1 + 2 + 3)
    assert work.weight_bytes == 2 * LAYER * 2 + (3 * 4 + 28) * 2
    assert (work.kv_read_bytes, work.kv_written_bytes) == (0, 2 * 2 * 3 * 2 * 3)


def test_a_decode_step_reads_every_cached_key_once() -> None:
    work = necessary_work(TINY, [], [10, 20])
    assert work.attention_flops == 2 * 4 * 2 * 3 * 30
    assert work.kv_read_bytes == 2 * (2 * 3 * 2) * 28
    assert work.kv_written_bytes == 2 * (2 * 3 * 2) * 2


def test_an_unsampled_chunk_needs_no_lm_head() -> None:
    chunk, final = (necessary_work(TINY, [(3, 0, samples)], []) for samples in (False, True))
    assert final.gemm_flops - chunk.gemm_flops == 2 * 28


@pytest.mark.parametrize("window", [1, 2, 5, 8, 100])
def test_a_window_cuts_pairs_and_keys(window: int) -> None:
    """Against the definition, one query at a time."""
    model = replace(TINY, layers=((1, window),))
    work = necessary_work(model, [(5, 3, True)], [9])
    pairs = sum(min(window, 3 + i + 1) for i in range(5)) + min(window, 9)
    assert work.attention_flops == 4 * 2 * 3 * pairs
    assert work.kv_read_bytes == (min(window, 4) - 1 + min(window, 9) - 1) * 2 * 3 * 2


def test_tensor_parallel_divides_work_but_not_the_last_kv_head() -> None:
    one, two = (necessary_work(replace(TINY, tp=tp), [], [50]) for tp in (1, 2))
    whole_on_each = 2 * 4 * 3
    """The k and v projections of the one KV head."""
    assert two.gemm_flops == 2 * (2 * ((LAYER - whole_on_each) / 2 + whole_on_each) + 28 / 2)
    assert two.attention_flops * 2 == one.attention_flops
    assert two.kv_read_bytes == one.kv_read_bytes


def test_the_bound_is_the_longer_of_both_times() -> None:
    work = necessary_work(TINY, [], [10])
    limit = bound(work, peak_flops=1e6, bytes_per_s=1e3)
    assert limit.bound_ms == limit.memory_ms == pytest.approx(work.bytes_moved)
    assert limit.compute_ms == pytest.approx(work.flops * 1e-3)
