"""The backends as the registry finds them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from profiling.contract import Setting
from profiling.discovery import PACKAGE_ROOT
from profiling.registry import backends, kinds
from servingsim.errors import ServingSimError


def test_listing_backends_imports_nothing_heavy() -> None:
    """`profiling list` would take seconds, and fail where torch is not installed."""
    code = (
        "import sys; from profiling.registry import backends; backends();"
        "print(sorted({'torch', 'transformers', 'flashinfer'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PACKAGE_ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_kind_runs_on_the_cpu_in_the_promised_dtypes() -> None:
    """A kind without a runner cannot be profiled where most people try it first."""
    found = backends()
    between_ranks = {name for name, kind in kinds().items() if kind.family == "collective"}
    # A launch over both phases exists in engines alone; its rows are imported.
    compute = set(kinds()) - between_ranks - {"attention_mixed"}
    assert {kind for kind, name in found if name == "torch"} == compute
    assert {kind for kind, name in found if name == "gloo"} == between_ranks
    for (_, name), runner in found.items():
        if name in {"torch", "transformers", "gloo"}:
            assert "cpu" in runner.devices
            assert set(runner.compute_dtypes) == {"fp32", "bf16", "fp16"}


@pytest.mark.parametrize(("kind", "name"), list(backends()))
def test_every_backend_accepts_the_smoke_spec_of_its_kind_or_says_why_not(kind: str, name: str) -> None:
    """The hand-off check runs the smoke spec through the command line."""
    reason = backends()[kind, name].supports(**kinds()[kind].smoke)
    without_add = {("elementwise", "transformers"), ("elementwise", "vllm_cpu")}
    assert (reason == "") != ((kind, name) in without_add)


@pytest.mark.parametrize(
    ("kind", "name"), [key for key, runner in backends().items() if runner.devices == ("cuda",)]
)
def test_backends_of_a_gpu_say_so_where_there_is_none(kind: str, name: str) -> None:
    """A trace from deep inside a library does not tell a user that the machine has no GPU."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    setting = Setting("cuda", 0, 50 * 2**20, 2**36)
    with pytest.raises(ServingSimError, match="CUDA") as refused:
        backends()[kind, name].prepare(setting, **kinds()[kind].smoke)
    assert refused.value.code == "E_NO_GPU"
