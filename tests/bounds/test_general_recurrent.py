"""Layers whose state does not grow: the count against the recurrence itself, written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.bounds.general import necessary_work
from servingsim.bounds.sizes import DeltaRule, GeneralModel, Layers, Ranks, StateSpace

if TYPE_CHECKING:
    from servingsim.bounds.tally import GeneralWork

GDN = DeltaRule(
    num_k_heads=2, num_v_heads=4, k_dim=3, v_dim=5, conv_width=4,
    weight_bytes=1, gate_bytes=2, state_bytes=4, conv_bytes=2,
)  # fmt: skip
SSD = StateSpace(
    num_heads=8, head_dim=3, state_size=5, num_groups=2, conv_width=4, weight_bytes=1, state_bytes=4, conv_bytes=2
)  # fmt: skip
HIDDEN, LAYERS = 10, 3


def work(
    mixer: DeltaRule | StateSpace, prefill: list[tuple[int, int, bool]], decode: list[int], tp: int = 1
) -> GeneralWork:
    """Of a model that is nothing but these layers."""
    model = GeneralModel(HIDDEN, 16, (Layers("layers", LAYERS, mixer, None),), 2, 2, Ranks(tp=tp))
    return necessary_work(model, prefill, decode)


def delta_rule_flops(keys: int, values: int) -> int:
    """One token of one head, an operation at a time: S = g S; S += k (v - S^T k)^T; o = S^T q."""
    flops = 0
    for _ in range(keys * values):
        flops += 1  # decay
        flops += 2  # what the state says of the key
        flops += 2  # the correction's outer product, added
        flops += 2  # what the state says of the query
    return flops


def test_a_token_takes_every_element_of_a_state_once_however_long_its_context() -> None:
    """Defect: linear attention priced as attention over the context."""
    short, long = (work(GDN, [], [length]) for length in (2, 100_000))
    assert short == long
    assert short.flops_of("scan") == LAYERS * 4 * delta_rule_flops(3, 5)
    assert work(SSD, [], [2]).flops_of("scan") == LAYERS * 8 * 3 * 5 * 5


@pytest.mark.parametrize(("mixer", "state"), [(GDN, 4 * 3 * 5 * 4), (SSD, 8 * 3 * 5 * 4)])
def test_a_state_is_written_by_every_request_and_read_by_those_with_a_past(
    mixer: DeltaRule | StateSpace, state: int
) -> None:
    """Defect: a fresh prompt that reads a state, or a state read once a token."""
    fresh, chunk = (work(mixer, [(6, past, True)], []) for past in (0, 9))
    step = work(mixer, [], [4])
    assert (fresh.read_bytes("scan"), fresh.written_bytes("scan")) == (0, LAYERS * state)
    assert (chunk.read_bytes("scan"), chunk.written_bytes("scan")) == (LAYERS * state, LAYERS * state)
    assert step.read_bytes("scan") == chunk.read_bytes("scan")
    assert chunk.flops_of("scan") == 6 * step.flops_of("scan")


def test_the_convolution_keeps_one_token_less_than_it_has_taps() -> None:
    """Defect: the convolution forgotten, or over the value channels alone."""
    channels = 2 * 2 * 3 + 4 * 5
    found = work(GDN, [(6, 0, True)], [3])
    assert found.flops_of("conv") == LAYERS * 2 * 4 * channels * 7
    assert found.read_bytes("conv") == LAYERS * 3 * channels * 2
    assert found.written_bytes("conv") == LAYERS * 3 * channels * 2 * 2
    assert found.weight_bytes("conv") == LAYERS * 4 * channels * 2


def test_linear_layers_of_the_delta_rule_by_hand() -> None:
    """Defect: the output gate z, or the two small projections, left out."""
    into, gates, back = HIDDEN * (2 * 2 * 3 + 2 * 4 * 5), HIDDEN * 2 * 4, 4 * 5 * HIDDEN
    found = work(GDN, [], [3])
    head = 16 * HIDDEN
    assert found.flops_of("gemm") == 2 * (LAYERS * (into + gates + back) + head)
    assert found.weight_bytes("gemm") == LAYERS * (into + 2 * gates + back) + 2 * head


def test_linear_layers_of_a_state_space_by_hand() -> None:
    """Defect: in_proj without dt, or B and C once a head instead of once a group."""
    into, back = HIDDEN * (2 * 24 + 2 * 2 * 5 + 8), 24 * HIDDEN
    found = work(SSD, [], [3])
    assert found.flops_of("gemm") == 2 * (LAYERS * (into + back) + 16 * HIDDEN)


def test_ranks_divide_heads_and_copy_the_last_group() -> None:
    """Defect: half a group of B and C on a rank."""
    one, four = (work(SSD, [], [3], tp=tp) for tp in (1, 4))
    assert four.flops_of("scan") * 4 == one.flops_of("scan")
    assert four.flops_of("conv") == LAYERS * 2 * 4 * (24 / 4 + 2 * 5)
    assert work(GDN, [], [3], tp=2).read_bytes("scan") * 2 == work(GDN, [], [3]).read_bytes("scan")
