"""Llama-3.1-8B on an H100 from imported rows: orders of magnitude that nobody may miss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from servingsim.archs.hf_config import read_facts
from servingsim.archs.models import config_path
from servingsim.archs.stack_registry import stack_named
from servingsim.sim.options import PredictOptions
from servingsim.sim.predict import predict
from servingsim.timing.batch import Batch

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.source import StoreSource
    from servingsim.sim.report import PredictReport

DEVICE = "NVIDIA H100 80GB HBM3"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> StoreSource:
    """The package's rows of one stack version, imported through the public command."""
    pytest.importorskip("aiconfigurator_core")
    pytest.importorskip("pyarrow")
    from profiling.cli import cli  # noqa: PLC0415 - only where the data is there
    from profiling.source import StoreSource  # noqa: PLC0415

    db: Path = tmp_path_factory.mktemp("h100") / "rows.db"
    tables = ("gemm", "context_attention", "generation_attention", "custom_allreduce", "nccl")
    wanted = [word for table in tables for word in ("--table", table)]
    args = ["import", "aiconfigurator", "--system", "h100_sxm", "--stack", "vllm", "--db", str(db), *wanted]
    result = CliRunner().invoke(cli, args)
    assert result.exit_code == 0, result.output
    return StoreSource(db)


def priced(source: StoreSource, batch: Batch, tp: int) -> PredictReport:
    facts = read_facts(config_path("llama-3.1-8b"))
    return predict(facts, batch, source, PredictOptions(DEVICE, stack_named("vllm"), tp=tp))


@pytest.mark.slow
@pytest.mark.parametrize("requests", [1, 64])
def test_decode_lies_above_its_bound_and_shrinks_with_ranks(source: StoreSource, requests: int) -> None:
    """Defects: a layer count, a partition or a unit wrong by a factor; a free all-reduce."""
    reports = [priced(source, Batch.of([], [2049] * requests), tp) for tp in (1, 2, 4, 8)]
    times = [each.iteration_ms for each in reports]
    assert times == sorted(times, reverse=True)
    for report in reports:
        assert report.bound_ms is not None
        assert report.bound_ms < report.iteration_ms
    # Eight ranks never make eight times: launches and all-reduces do not shrink.
    assert times[0] / times[-1] < 6
    # One rank reads 15 GB of weights at 3.35 TB/s in 4.5 ms; engines reach about 7 ms.
    assert 1.1 < reports[0].iteration_ms / (reports[0].bound_ms or 0) < 1.8


@pytest.mark.slow
def test_a_prefill_of_2048_runs_near_the_peak(source: StoreSource) -> None:
    """33 TFLOP at 989 TFLOP/s are 30 ms."""
    report = priced(source, Batch.of([(2048,)]), 1)
    assert report.flops == pytest.approx(29.7e12, rel=0.02)
    assert 1.2 < report.iteration_ms / (report.bound_ms or 0) < 1.8
    assert report.uncovered_share < 0.15
