"""A prediction through rows whose total can be added by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.hf_config import read_facts
from servingsim.archs.stacks.transformers import STACK as TRANSFORMERS
from servingsim.archs.stacks.vllm import STACK as VLLM
from servingsim.errors import ServingSimError
from servingsim.sim.evaluate import evaluate
from servingsim.sim.missing import MissingKernel
from servingsim.sim.options import PredictOptions
from servingsim.sim.predict import predict
from servingsim.sim.report import PredictReport
from servingsim.timing.batch import Batch
from servingsim.timing.source import DeviceSpec, HostOverhead, MemorySource, Provenance

FACTS = read_facts(Path(__file__).resolve().parents[1] / "fixtures" / "configs" / "llama_small.json")
DEVICE = "CPU [2 threads]"
TIMES = {
    "single_gemm": 0.5,
    "rms_norm": 0.1,
    "elementwise": 0.01,
    "attention_prefill": 1.0,
    "attention_decode": 2.0,
}
"""Milliseconds of any shape of a kind."""


def empty() -> MemorySource:
    return MemorySource({DEVICE: DeviceSpec(DEVICE, {"bf16": 1e15}, 1e14, 2 * 10**6)})


def measured(batch: Batch, *kinds: str) -> MemorySource:
    """A row of `TIMES` at every point that the batch asks for, of all kinds or of the named ones."""
    source = empty()
    for log in evaluate(FACTS, batch, source, PredictOptions(DEVICE, TRANSFORMERS)).logs:
        kind = log.kernel.kind.kind
        for coords in log.points.coords:
            if not kinds or kind in kinds:
                payload = log.kernel.kind.payload(log.kernel.config, tuple(coords))
                source.add(kind, DEVICE, log.kernel.config.backends[0], payload, TIMES[kind])
    return source


def report(batch: Batch, source: MemorySource, **options: Any) -> PredictReport:  # noqa: ANN401 - PredictOptions' fields
    return predict(FACTS, batch, source, PredictOptions(DEVICE, TRANSFORMERS, **options))


def test_a_prefill_adds_up_by_hand() -> None:
    """Defect: any op dropped, doubled, or not multiplied by the layers."""
    batch = Batch.of([(16,)])
    found = report(batch, measured(batch))
    # A layer: 7 GEMMs, 2 norms, rope + 2 cats + 2 adds + silu + mul, attention.
    layer = 7 * 0.5 + 2 * 0.1 + 7 * 0.01 + 1.0
    # Around them: embedding, final norm, lm_head.
    assert found.kernels_ms == pytest.approx(3 * layer + 0.01 + 0.1 + 0.5)
    assert found.iteration_ms == found.kernels_ms
    assert sum(row.time_ms for row in found.ops) == pytest.approx(found.kernels_ms)
    assert sum(row.share for row in found.ops) == pytest.approx(1)
    assert (found.coverage, found.uncovered_share, found.missing) == ([], 0, [])


def test_a_decode_step_launches_no_prefill_kernel() -> None:
    batch = Batch.of([], [100, 100])
    found = report(batch, measured(batch))
    layer = 7 * 0.5 + 2 * 0.1 + 7 * 0.01 + 2.0
    assert found.kernels_ms == pytest.approx(3 * layer + 0.01 + 0.1 + 0.5)
    assert "attention_prefill" not in {row.kind for row in found.ops}
    assert "(latency - TTFT) / (output tokens - 1)" in found.tpot_note


def test_one_op_row_in_full() -> None:
    batch = Batch.of([(16,)])
    (row,) = (row for row in report(batch, measured(batch)).ops if row.op == "layers.mlp.down_proj")
    assert (row.kind, row.launches, row.coverage) == ("single_gemm", 3, [])
    assert row.time_ms == pytest.approx(1.5)
    assert row.flops == 3 * 2 * 16 * 64 * 192
    assert row.bytes_moved == 3 * 2 * (16 * 192 + 192 * 64 + 16 * 64)
    assert row.tflop_per_s == pytest.approx(row.flops / 1.5e-3 / 1e12)
    assert row.gb_per_s == pytest.approx(row.bytes_moved / 1.5e-3 / 1e9)
    assert row.limit_ms is not None
    assert row.efficiency == pytest.approx(row.limit_ms / 1.5)
    assert [(each.backend, each.origin, each.source) for each in row.rows] == [
        ("torch", "measured", "memory")
    ]


def test_host_overhead_is_reported_apart_and_added() -> None:
    """Defect: launch overhead forgotten, or hidden in the kernels."""
    batch = Batch.of([], [100])
    source = measured(batch)
    source.host[DEVICE, "transformers"] = HostOverhead(2.0, 0.5, Provenance("measured", DEVICE, ""))
    found = report(batch, source)
    assert found.host_ms == 3.5
    assert found.iteration_ms == pytest.approx(found.kernels_ms + 3.5)
    bare = report(batch, measured(batch))
    assert (bare.host_ms, bare.host) == (None, "not modelled")


def test_kinds_without_rows_are_estimated_and_say_so() -> None:
    """Defect: a kind that was never measured passes for measured."""
    batch = Batch.of([(16,)])
    found = report(batch, measured(batch, "single_gemm", "rms_norm", "attention_prefill"))
    flagged = {row.kind for row in found.ops if row.coverage}
    assert flagged == {"elementwise"}
    assert found.coverage == ["NO_COVERAGE"]
    assert 0 < found.uncovered_share < 0.5
    assert {row.rows[0].origin for row in found.ops if row.coverage} == {"estimated"}
    assert {(each.kind, each.backend) for each in found.missing} == {
        ("elementwise", "torch"),
        ("elementwise", "transformers"),
    }


def test_without_estimates_a_kind_without_rows_is_refused() -> None:
    batch = Batch.of([(16,)])
    with pytest.raises(ServingSimError, match="elementwise") as raised:
        report(batch, measured(batch, "single_gemm", "rms_norm", "attention_prefill"), on_missing="refuse")
    assert raised.value.code == "E_COVERAGE"


def test_missing_rows_name_kind_backend_example_and_command() -> None:
    batch = Batch.of([(16,)])
    options = PredictOptions(DEVICE, TRANSFORMERS)
    found = predict(FACTS, batch, empty(), options, lambda each: f"measure {each.kind} {len(each.specs)}")
    (gemm,) = (each for each in found.missing if each.kind == "single_gemm")
    assert gemm.command == f"measure single_gemm {gemm.count}"
    assert {"m": 1, "n": 1024, "k": 64, "dtype": "bf16"} in gemm.specs
    assert {"m": [1, 4, 8, 16], "n": [64, 16, 192], "k": 64, "dtype": "bf16"} in gemm.specs
    assert gemm.ops[0] == "layers.attention.q_proj"
    assert gemm.device == DEVICE


def test_equal_shapes_of_two_ops_are_measured_once() -> None:
    """Defect: k_proj and v_proj double the hours of measuring."""
    batch = Batch.of([(16,)])
    (gemm,) = (each for each in report(batch, empty()).missing if each.kind == "single_gemm")
    # Shapes q = o, k = v, gate = up and down at m 1, 4, 8, 16; lm_head at m 1 only.
    assert gemm.count == 4 * 4 + 1


def test_memory_of_the_rank_and_whether_the_batch_fits() -> None:
    batch = Batch.of([], [100])
    memory = report(batch, empty()).memory
    assert (memory.kv_bytes_per_token, memory.weight_bytes) == (192, 2 * FACTS.parameters)
    assert memory.fits
    long = Batch.of([], [4000, 4000])
    assert not report(long, empty()).memory.fits


def test_the_bound_comes_from_the_accountant_and_is_never_above_the_prediction() -> None:
    batch = Batch.of([(16,)])
    found = report(batch, empty())
    assert found.bound_ms is not None
    assert 0 < found.bound_ms <= found.kernels_ms
    assert found.bound_by in {"memory", "compute"}


def test_unknown_peaks_leave_the_bound_open() -> None:
    source = measured(Batch.of([], [64]))
    source.devices[DEVICE] = DeviceSpec(DEVICE, {}, 0.0, 2 * 10**6)
    found = report(Batch.of([], [64]), source)
    assert (found.bound_ms, found.bound_by) == (None, "unknown")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_num_tokens": 8}, "needs max_num_tokens 16"),
        ({"max_model_len": 8}, "needs max_model_len 16"),
        ({"tp": 2}, "tp 2 with stack 'transformers'"),
        ({"stack_version": "9.9"}, r"no rows of transformers 9\.9"),
        ({"utilisation": 2.0}, "utilisation 2.0"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ServingSimError, match=message):
        report(Batch.of([(16,)]), empty(), **options)


def test_an_unknown_device_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ServingSimError, match="'TPU'") as raised:
        predict(FACTS, Batch.of([(16,)]), empty(), PredictOptions("TPU", TRANSFORMERS))
    assert DEVICE in raised.value.known


def test_a_request_beyond_the_models_context_is_refused_unless_told_otherwise() -> None:
    batch = Batch.of([], [5000])
    with pytest.raises(ServingSimError, match="5000 tokens") as raised:
        report(batch, empty())
    assert "4096" in raised.value.known
    assert report(batch, empty(), max_model_len=8192).batch.longest_context == 5000


def test_ranks_share_the_work_and_pay_for_meeting() -> None:
    batch = Batch.of([(16,)])
    one, two = (predict(FACTS, batch, empty(), PredictOptions(DEVICE, VLLM, tp=tp)) for tp in (1, 2))
    gemms = [sum(row.flops for row in each.ops if row.kind == "single_gemm") for each in (one, two)]
    assert gemms[1] == gemms[0] / 2
    assert [row.launches for row in two.ops if row.kind == "all_reduce"] == [1, 3, 3]
    assert [row.launches for row in two.ops if row.kind == "all_gather"] == [1]
    assert two.unpriced == one.unpriced


def test_the_report_survives_json() -> None:
    found = report(Batch.of([(16,)], [20]), empty())
    assert PredictReport.model_validate_json(found.model_dump_json()) == found


def test_validation_is_said_or_denied() -> None:
    batch = Batch.of([], [64])
    assert report(batch, empty()).validated_error == "not validated"
    assert report(batch, empty(), validated_error="+3 %").validated_error == "+3 %"


def test_sweeps_hold_exactly_the_specs() -> None:
    """Defect: a masked grid written as its whole product asks for infeasible shapes."""
    specs = [{"a": a, "b": b, "op": "x"} for a in (1, 2, 4, 8) for b in (1, 2, 4, 8) if a * b <= 8]
    swept = MissingKernel("k", "torch", DEVICE, ("op",), tuple(specs)).sweeps()
    assert len(swept) < len(specs)
    boxes = [[value if isinstance(value, list) else [value] for value in box.values()] for box in swept]
    points = [dict(zip(["a", "b", "op"], point, strict=True)) for box in boxes for point in product(*box)]
    assert sorted(points, key=str) == sorted(specs, key=str)
