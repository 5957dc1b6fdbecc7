"""Which rows price a kernel of a stack, where the store holds rows of several."""

from __future__ import annotations

import pytest

from servingsim.archs.stack_registry import stack_named, stacks
from servingsim.timing.registry import kernels
from servingsim.worklets.routing import candidates

CONVOLUTION = "causal_conv1d"


def _candidates(stack: str, kind: str, present: tuple[str, ...], op: str = "") -> tuple[str, ...]:
    return candidates(stack_named(stack).route(kind, op), present, stack, "1.0")


@pytest.mark.parametrize("stack", ["vllm", "sglang", "trtllm"])
def test_imported_rows_of_one_elementwise_operation_do_not_hide_measured_ones_of_others(stack: str) -> None:
    """Defect: an import of convolutions leaves a model's activations without the rows measured for them."""
    imported = f"{stack}-1.0:causal_conv1d_fn"
    present = ("torch", imported)
    assert "torch" in _candidates(stack, "elementwise", present, "silu_mul")
    assert _candidates(stack, "elementwise", present, CONVOLUTION) == (imported,)
    assert _candidates(stack, "elementwise", ("torch",), CONVOLUTION) == ("torch",)


@pytest.mark.parametrize("stack", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize(
    "kind", ["mla_prefill", "mla_decode", "gated_delta_prefill", "mamba2_decode", "fused_moe"]
)
def test_rows_of_another_stack_do_not_price_this_ones_kernels(stack: str, kind: str) -> None:
    """Defect: the fastest of all stacks' kernels, as if one could choose among them."""
    present = tuple(f"{name}-1.0:kernel" for name in ("sglang", "trtllm", "vllm"))
    assert _candidates(stack, kind, present) == (f"{stack}-1.0:kernel",)


@pytest.mark.parametrize("stack", sorted(stacks()))
def test_routes_name_kinds_that_exist(stack: str) -> None:
    """Defect: a route that no kernel takes, so that any backend answers for the one that was meant."""
    assert {route.kind for route in stack_named(stack).routes} <= set(kernels())
