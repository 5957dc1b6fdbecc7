"""vLLM's own callables as backends, and measuring under an interpreter that has them."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

from profiling.measure import measure
from profiling.plan import Job, RunSettings, plan
from profiling.registry import backend_named, backends
from profiling.store import Store
from servingsim.archs.stack_registry import stack_named
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

GEMM: dict[str, Any] = {"m": 4, "n": 64, "k": 64, "dtype": "bf16"}
HEADS: dict[str, Any] = {"num_heads": 4, "num_kv_heads": 2, "head_dim": 64, "window_size": 0}
WITHOUT_VLLM = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is not None, reason="vLLM is installed in this environment"
)


def test_every_kind_that_the_stack_routes_to_vllm_has_its_callable() -> None:
    """Defect: a stack names a backend that nobody can measure with."""
    routed = {(route.kind, own) for route in stack_named("vllm_cpu").routes for own in route.own}
    assert routed == {key for key in backends() if key[1] == "vllm_cpu"}


@WITHOUT_VLLM
def test_without_vllm_the_way_to_another_interpreter_is_named() -> None:
    """Defect: who has vLLM in an environment of its own is told to install it here."""
    job = Job("single_gemm", "vllm_cpu", [GEMM])
    with pytest.raises(ServingSimError, match="not importable: vllm") as refused:
        plan([job], RunSettings(device_type="cpu"))
    assert refused.value.code == "E_TOOLCHAIN"
    assert "--python" in refused.value.hint
    assert plan([job], RunSettings(device_type="cpu", python="other"))[0].device.type == "cpu"


@pytest.mark.parametrize("python", ["no/such/python", "/bin/false"])
def test_an_interpreter_that_does_not_run_fails_the_shape_with_the_reason(
    tmp_path: Path, python: str
) -> None:
    """Defect: a traceback, or a wait of a minute, for a mistyped interpreter."""
    settings = RunSettings(threads=1, device_type="cpu", python=python)
    with Store.open(tmp_path / "rows.db", create=True) as store:
        report = measure(store, "single_gemm", "vllm_cpu", [GEMM], settings=settings)
    assert [shape.args for shape in report.failed] == [GEMM]
    assert report.failed[0].reason


@pytest.mark.parametrize(
    ("kind", "args", "says"),
    [
        (
            "elementwise",
            {"op": "gelu_mul", "input": 256, "output": 128},
            "no callable of its own for gelu_mul",
        ),
        ("elementwise", {"op": "copy", "input": 100, "output": 100}, "no keys and values of whole heads"),
        ("elementwise", {"op": "silu_mul", "input": 128, "output": 128}, "reads 2 row"),
        ("elementwise", {"op": "copy", "input": 512, "output": 512}, ""),
        ("attention_decode", {**HEADS, "kv_dtype": "fp8"}, "fp8"),
        ("attention_prefill", {**HEADS, "kv_dtype": "bf16"}, ""),
    ],
)
def test_shapes_that_vllm_does_not_run_are_refused_beforehand(
    kind: str, args: dict[str, Any], says: str
) -> None:
    """Defect: the worker dies on a shape that no engine launches."""
    sizes = {"input": "input_bytes_per_token", "output": "output_bytes_per_token"}
    given = {sizes.get(name, name): value for name, value in args.items()}
    reason = backend_named(kind, "vllm_cpu").supports(dtype="bf16", **given)
    assert (says in reason) if says else not reason
