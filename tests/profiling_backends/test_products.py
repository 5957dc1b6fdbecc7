"""Matrix products of the backend torch against plain fp32 references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.backends import group_products

if TYPE_CHECKING:
    from collections.abc import Callable

    Prepare = Callable[..., Any]
    Close = Callable[..., None]

DTYPES = ("fp32", "bf16", "fp16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_single_gemm_multiplies_by_the_transposed_weight(prepare: Prepare, close: Close, dtype: str) -> None:
    """A weight stored [k, n] would be timed through another kernel than a model's dense layer."""
    call = prepare("single_gemm", m=5, n=24, k=16, dtype=dtype).calls[0]
    x, weight = call.args
    assert (x.shape, weight.shape) == ((5, 16), (24, 16))
    close(call(), x.float() @ weight.float().T, dtype)


@pytest.mark.parametrize(("m", "groups"), [(7, 3), (2, 4), (8, 4)])
def test_grouped_gemm_gives_each_group_its_own_weight(
    prepare: Prepare, close: Close, m: int, groups: int
) -> None:
    """Rows of one group through another's weight, or launches for groups without rows."""
    call = prepare("grouped_gemm", m=m, num_groups=groups, n=8, k=16, dtype="fp32").calls[0]
    _, parts, weights = call.args
    results = call()
    assert [len(part) for part in parts] == [m // groups + (g < m % groups) for g in range(groups) if g < m]
    for part, weight, result in zip(parts, weights, results, strict=True):
        close(result, part @ weight.T, "fp32")


@pytest.mark.parametrize(
    ("topk", "experts", "tp", "ep", "distribution"),
    [
        (2, 4, 1, 1, "balanced"),
        (2, 8, 2, 1, "uniform"),
        (3, 8, 1, 4, "power_law_1.2"),
        (1, 3, 1, 2, "uniform"),
    ],
)
def test_fused_moe_sums_the_experts_of_each_token(
    prepare: Prepare, close: Close, topk: int, experts: int, tp: int, ep: int, distribution: str
) -> None:
    """Assignments permuted against their tokens, weights or experts; experts of other ranks computed here."""
    torch = pytest.importorskip("torch")
    launch = prepare(
        "fused_moe",
        num_tokens=6,
        hidden_size=16,
        inter_size=8 * tp,
        topk=topk,
        num_experts=experts,
        moe_tp_size=tp,
        moe_ep_size=ep,
        distribution=distribution,
        dtype="fp32",
    )
    for call in launch.calls[:3]:
        tokens, gate_up, down, chosen, scores, rows = call.args[-6:]
        assert gate_up.shape == (-(-experts // ep), 16, 16)
        assert rows == int((chosen < len(gate_up)).sum())
        expected = torch.zeros_like(tokens)
        for place, expert in enumerate(chosen.tolist()):
            if expert < len(gate_up):
                token = tokens[place // topk]
                gate, up = (gate_up[expert] @ token).chunk(2)
                expected[place // topk] += scores[place] * (
                    down[expert] @ (torch.nn.functional.silu(gate) * up)
                )
        close(call(), expected, "fp32")


def test_fused_moe_routes_every_copy_anew(prepare: Prepare) -> None:
    """One routing for all samples would time the experts that it happens to hit, and leave their weights warm."""
    launch = prepare(
        "fused_moe",
        num_tokens=2,
        hidden_size=256,
        inter_size=512,
        topk=2,
        num_experts=32,
        moe_tp_size=1,
        moe_ep_size=1,
        distribution="uniform",
        dtype="bf16",
    )
    assert len({tuple(call.args[-3].tolist()) for call in launch.calls}) == len(launch.calls) >= 8


def test_the_grouped_launch_gives_what_one_product_a_group_gives(close: Close) -> None:
    """On CUDA the experts run through one grouped product: offsets or a transpose mistaken would go unseen here."""
    torch = pytest.importorskip("torch")
    launch = getattr(torch.nn.functional, "grouped_mm", None)
    if launch is None:
        pytest.skip("this torch has no public grouped product")
    rows, weights = torch.randn(9, 16, dtype=torch.bfloat16), torch.randn(4, 8, 16, dtype=torch.bfloat16)
    ends = torch.tensor([3, 3, 4, 9])
    at_once = group_products._at_once(torch, launch, rows, weights, ends)
    close(at_once, group_products._each(torch, rows, weights, ends).float(), "bf16")
