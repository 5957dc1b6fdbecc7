"""The general accountant on dense decoders: the dense one is its special case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servingsim.bounds import dense, general
from servingsim.bounds.sizes import GeneralModel, Layers, Projections, Ranks, Softmax
from servingsim.bounds.visible import Prefill, Sight


def of_dense(model: dense.DenseModel) -> GeneralModel:
    """The same decoder in general terms."""
    return GeneralModel(
        hidden_size=model.hidden_size,
        vocab_size=model.vocab_size,
        layers=tuple(
            Layers(
                f"class_{index}",
                count,
                Softmax(
                    num_heads=model.num_heads,
                    num_kv_heads=model.num_kv_heads,
                    head_dim=model.head_dim,
                    v_head_dim=model.head_dim,
                    weight_bytes=model.layer_weight_bytes,
                    cache_bytes=model.kv_bytes,
                    sight=Sight(window),
                ),
                Projections(model.intermediate_size, 3, model.layer_weight_bytes),
            )
            for index, (count, window) in enumerate(model.layers)
        ),
        embedding_bytes=model.embedding_bytes,
        head_bytes=model.embedding_bytes,
        ranks=Ranks(tp=model.tp),
    )


MODELS = st.builds(
    dense.DenseModel,
    layers=st.lists(
        st.tuples(st.integers(1, 80), st.sampled_from([0, 1, 128, 4096])), min_size=1, max_size=3
    ).map(tuple),
    hidden_size=st.integers(1, 8192),
    num_heads=st.integers(1, 128),
    num_kv_heads=st.integers(1, 16),
    head_dim=st.integers(1, 256),
    intermediate_size=st.integers(1, 30000),
    vocab_size=st.integers(1, 200_000),
    layer_weight_bytes=st.sampled_from([0.5, 1.0, 2.0, 4.0]),
    embedding_bytes=st.sampled_from([2.0, 4.0]),
    kv_bytes=st.sampled_from([1.0, 2.0]),
    tp=st.sampled_from([1, 2, 4, 8]),
)
CHUNKS = st.lists(st.tuples(st.integers(1, 9000), st.integers(0, 100_000), st.booleans()), max_size=4)
DECODES = st.lists(st.integers(1, 200_000), max_size=8)


@settings(max_examples=150, deadline=None)
@given(MODELS, CHUNKS, DECODES)
def test_every_figure_of_a_dense_decoder_is_that_of_the_dense_accountant(
    model: dense.DenseModel, prefill: list[Prefill], decode: list[int]
) -> None:
    """Defect: two accountants that judge the same table by different figures."""
    prefill = prefill or [(1, 0, True)]
    one = dense.necessary_work(model, prefill, decode)
    other = general.necessary_work(of_dense(model), prefill, decode)
    figures = {
        "gemm_flops": (other.flops_of("gemm"), one.gemm_flops),
        "attention_flops": (other.flops_of("attention"), one.attention_flops),
        "flops": (other.flops, one.flops),
        "weight_bytes": (other.weight_bytes(), one.weight_bytes),
        "kv_read_bytes": (other.read_bytes(), one.kv_read_bytes),
        "kv_written_bytes": (other.written_bytes(), one.kv_written_bytes),
        "bytes_moved": (other.bytes_moved, one.bytes_moved),
    }
    mine, theirs = ({name: pair[side] for name, pair in figures.items()} for side in (0, 1))
    assert mine == pytest.approx(theirs, rel=1e-12, abs=1e-6)


def test_the_bound_is_that_of_the_dense_accountant() -> None:
    """Defect: a roofline in seconds where the other is in milliseconds."""
    model = dense.DenseModel(((2, 0),), 4, 2, 1, 3, 5, 7, 2, 2, 2)
    peaks = {"peak_flops": 1e6, "bytes_per_s": 1e3}
    one = dense.bound(dense.necessary_work(model, [(3, 0, True)], [9]), **peaks)
    assert general.bound(general.necessary_work(of_dense(model), [(3, 0, True)], [9]), **peaks) == one


def test_ranks_add_up_what_every_divided_part_gives() -> None:
    """Defect: a sum over ranks forgotten for one part of a layer, or counted on a single rank."""
    model = dense.DenseModel(((3, 0),), 4, 2, 1, 3, 5, 7, 2, 2, 2)
    alone, shared = (
        general.necessary_work(of_dense(replace(model, tp=tp)), [(5, 0, True)], []) for tp in (1, 2)
    )
    assert alone.message_bytes == 0
    assert shared.message_bytes == (3 * 2 + 1) * 5 * 4 * 2
