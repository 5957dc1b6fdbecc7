"""Captured kernels: placed by name, counted beside the table, and never lost."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skills.split_model.schema import SplitReport

    Split = Callable[..., SplitReport]

LAYERS, ITERATIONS = 28, 10
DECODE = [{"phase": "decode", "batch": 64, "context": 2048}]
KERNELS = {
    "nvjet_tst_128x64_64x8_bz_v_TNT": ((4 * LAYERS + 1) * ITERATIONS, 62_000_123),
    "void flash::FlashAttnFwdSm90<cutlass::bfloat16_t, 128>(Params)": (LAYERS * ITERATIONS, 21_000_001),
    "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>": (2 * LAYERS * ITERATIONS, 5_000_000),
    "vllm::rms_norm_kernel<c10::BFloat16>": ((2 * LAYERS + 1) * ITERATIONS, 50_001),
    "vllm::rotary_embedding_kernel<c10::BFloat16, true>": (LAYERS * ITERATIONS, 2_000_000),
    "vllm::reshape_and_cache_flash_kernel": (LAYERS * ITERATIONS, 1_500_000),
    "vllm::act_and_mul_kernel<c10::BFloat16, silu>": (LAYERS * ITERATIONS, 2_500_000),
    "indexSelectLargeIndex": (ITERATIONS, 100_000),
    "at::native::reduce_kernel<ArgMaxOps argmax>": (ITERATIONS, 400_000),
    "at::native::vectorized_elementwise_kernel<FillFunctor<int>>": (ITERATIONS, 3),
    "mystery_kernel": (1, 7),
}
"""One decode phase of qwen3-0.6b, as a summary lists it."""


def as_json(kernels: dict[str, tuple[int, int]], phase: str = "decode") -> str:
    rows = [
        {"phase": phase, "name": name, "calls": calls, "total_ns": ns}
        for name, (calls, ns) in kernels.items()
    ]
    return json.dumps(rows)


def as_csv(kernels: dict[str, tuple[int, int]]) -> str:
    text = io.StringIO()
    text.write("Processing [run.sqlite] with [cuda_gpu_kern_sum.py]...\n\n")
    writer = csv.writer(text)
    writer.writerow(["Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Name"])
    for name, (calls, ns) in kernels.items():
        writer.writerow(["1.0", f"{ns:,}", f"{calls:,}", "1.0", name])
    return text.getvalue()


@pytest.fixture
def captured(split: Split, root: Path, tmp_path: Path) -> Callable[..., SplitReport]:
    """A split of qwen3-0.6b with a capture of the given text."""

    def call(text: str, **more: Any) -> SplitReport:  # noqa: ANN401 - the tool's JSON arguments
        file = root / f"{tmp_path.name}.txt"
        file.write_text(text, encoding="utf-8")
        return split(**({"model": "qwen3-0.6b", "capture": file.name, "phases": DECODE} | more))

    return call


def evidence(report: SplitReport, identity: str) -> tuple[str, str]:
    found = next(each for each in report.criteria if each.id == identity)
    return found.status, found.evidence


def total_of(report: SplitReport) -> int:
    aside = sum(each.ns for each in (*report.plumbing, *report.unplaced))
    return aside + sum(row.measured_ns or 0 for row in report.rows)


def test_a_capture_that_bears_the_table_out_makes_it_pass(captured: Callable[..., SplitReport]) -> None:
    report = captured(as_json(KERNELS))
    assert report.status == "pass", [each for each in report.criteria if each.status != "pass"]
    assert report.decisions == []
    shares = [row.measured_share or 0.0 for row in report.rows]
    assert shares == sorted(shares, reverse=True)
    assert report.rows[0].measured_share
    assert report.handoffs[0].share_is == "measured"


@pytest.mark.parametrize("write", [as_json, as_csv])
def test_every_nanosecond_is_in_one_place(
    captured: Callable[..., SplitReport], write: Callable[[dict[str, tuple[int, int]]], str]
) -> None:
    """Caught: kernels lost between categories, or nanoseconds lost in shared rows."""
    report = captured(write(KERNELS))
    assert total_of(report) == sum(ns for _, ns in KERNELS.values())
    assert evidence(report, "split.8-conserved")[0] == "pass"
    assert [each.name for each in report.unplaced] == ["mystery_kernel"]
    assert {each.name for each in report.plumbing if each.ns} == {
        "at::native::reduce_kernel<ArgMaxOps argmax>",
        "at::native::vectorized_elementwise_kernel<FillFunctor<int>>",
    }


def test_a_material_kernel_without_a_row_fails(captured: Callable[..., SplitReport]) -> None:
    """Caught: an operation that the table misses although the machine spends time on it."""
    report = captured(as_json(KERNELS | {"mystery_kernel": (LAYERS * ITERATIONS, 9_000_000)}))
    status, seen = evidence(report, "split.8-captured-complete")
    assert (status, "mystery_kernel" in seen) == ("fail", True)


def test_a_generated_kernel_is_not_taken_for_a_copy(captured: Callable[..., SplitReport]) -> None:
    """Caught: a fused kernel whose name holds `copy`, hidden as plumbing."""
    name = "triton_poi_fused__to_copy_add_mul_3"
    report = captured(as_json(KERNELS | {name: (LAYERS * ITERATIONS, 9_000_000)}))
    assert name in [each.name for each in report.unplaced]


def test_evidence_that_names_a_kernel_places_it(captured: Callable[..., SplitReport]) -> None:
    text = as_json(KERNELS | {"mystery_kernel": (LAYERS * ITERATIONS, 9_000_000)})
    said = {"op": "mlp.silu_mul", "verdict": "elementwise", "evidence": "mystery_kernel is its second half"}
    report = captured(text, overrides=[said])
    assert evidence(report, "split.8-captured-complete")[0] == "pass"
    assert next(row for row in report.rows if row.op == "mlp.silu_mul").measured_ns == 11_500_000


def test_launches_that_the_table_has_not_stay_unverified(captured: Callable[..., SplitReport]) -> None:
    """Caught: granularity taken as proved because a kernel's name sounds right."""
    name = next(iter(KERNELS))
    unmerged = KERNELS | {name: ((7 * LAYERS + 1) * ITERATIONS, 62_000_123)}
    status, seen = evidence(captured(as_json(unmerged)), "split.6-granularity")
    assert status == "unverified"
    assert "197.0 launches an iteration seen, 113 by the table" in seen


def test_a_fused_norm_that_was_not_seen_stays_inferred(captured: Callable[..., SplitReport]) -> None:
    """Caught: a fold that the capture does not bear out."""
    plain = {name: value for name, value in KERNELS.items() if "fused_add" not in name}
    plain["vllm::rms_norm_kernel<c10::BFloat16>"] = ((4 * LAYERS + 1) * ITERATIONS, 5_000_000)
    report = captured(as_json(plain))
    status, seen = evidence(report, "split.6-granularity")
    assert (status, "attention.residual_add: no kernel" in seen) == ("unverified", True)
    row = next(row for row in report.rows if row.op == "attention.residual_add")
    assert row.fused.startswith("inferred, unverified")


def test_a_decode_capture_says_nothing_about_prefill(captured: Callable[..., SplitReport]) -> None:
    """Caught: decode's attention time given to prefill's row."""
    phases = [*DECODE, {"phase": "prefill", "q_len": 128}]
    report = captured(as_json(KERNELS), phases=phases)
    rows = {row.op: row for row in report.rows}
    assert rows["attention.prefill"].measured_ns == 0
    assert rows["attention.decode"].measured_ns == 21_000_001


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("[", "no capture"),
        ("[3]", "no capture"),
        ('[{"name": "k", "calls": -1, "total_ns": 5}]', "calls"),
        ('[{"name": "k", "calls": 1, "total_ns": 0}]', "none with a duration"),
        ("Total Time (ns),Instances,Name\nmany,1,k\n", "total_ns"),
        ("Total Time (ns),Instances,Name\n1,2\n", "name"),
    ],
)
def test_a_damaged_capture_is_refused(captured: Callable[..., SplitReport], text: str, reason: str) -> None:
    with pytest.raises(ServingSimError, match=reason):
        captured(text)


def test_a_large_file_of_something_else_is_refused_by_its_beginning(split: Split, root: Path) -> None:
    """Caught: a server that reads gigabytes before it says no."""
    file = root / "large.json"
    with file.open("wb") as handle:
        handle.truncate(2**34)
    with pytest.raises(ServingSimError, match="is no capture"):
        split(model="qwen3-0.6b", capture=file.name)


def test_real_summaries_are_conserved(split: Split, shared_data: Path, root: Path) -> None:
    """Caught: names with commas, thousands separators, other exporters' columns."""
    for file in sorted((shared_data / "captures" / "nsys_csv").glob("*.csv")):
        (root / file.name).write_bytes(file.read_bytes())
        report = split(model="qwen3-0.6b", stack="transformers", capture=file.name)
        assert evidence(report, "split.8-conserved")[0] == "pass"
        assert total_of(report) > 0
