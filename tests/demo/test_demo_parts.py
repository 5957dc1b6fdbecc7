"""Parts of the demonstration that a wrong comparison would hide in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from profiling.forward_case import ForwardCase
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from server.demo.checks import _between
from server.demo.rounds import Folder, Forwards, merge
from server.demo.subject import CASES, Subject, batch_of, jobs_for, narrow
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

DEVICE = "Test CPU [1 threads]"
GEMM: dict[str, Any] = {"m": 8, "n": 64, "k": 64, "dtype": "bf16"}


def _row(median_ms: float, *, outlier: bool = False, m: int = 8) -> MeasuredRow:
    origins = Origins("measured", DEVICE, "torch", "torch", "2.13.0", measured_at="2026-12-01T00:00:00+00:00")
    reason = "the process waited for a core" if outlier else ""
    timing = Timing(median_ms, median_ms * 0.9, median_ms * 1.1, 0.05, 8, outlier, reason)
    return MeasuredRow("single_gemm", GEMM | {"m": m}, timing, origins)


def _rounds(folder: Folder, *rounds: list[MeasuredRow]) -> list[str]:
    names = [f"round-{index}" for index in range(len(rounds))]
    for name, rows in zip(names, rounds, strict=True):
        with Store.open(folder.store(name), create=True) as store:
            store.upsert(rows)
    return names


def test_rounds_merge_to_the_median_of_those_that_nothing_disturbed(tmp_path: Path) -> None:
    """One busy minute in three would otherwise move every prediction."""
    folder = Folder(tmp_path)
    names = _rounds(folder, [_row(1.0)], [_row(9.0, outlier=True)], [_row(1.2)])
    merge(folder, names, "cpu")
    with Store.open(folder.store("cpu"), read_only=True) as store:
        (row,) = store.rows("single_gemm")
    assert row["median_ms"] == pytest.approx(1.1)
    assert (row["samples"], row["outlier"]) == (16, False)
    assert row["cv"] == pytest.approx(0.1 / 1.1)  # the spread over rounds, where it is the larger


def test_a_shape_that_was_always_disturbed_stays_marked(tmp_path: Path) -> None:
    """Merging must not launder rows that cannot be trusted."""
    folder = Folder(tmp_path)
    merge(folder, _rounds(folder, [_row(5.0, outlier=True)], [_row(7.0, outlier=True)]), "cpu")
    with Store.open(folder.store("cpu"), read_only=True) as store:
        (row,) = store.rows("single_gemm")
    assert (row["median_ms"], row["outlier"]) == (6.0, True)


def test_a_shape_that_one_round_lacks_is_kept(tmp_path: Path) -> None:
    """A crash in one round costs that round's sample, not the shape."""
    folder = Folder(tmp_path)
    merge(folder, _rounds(folder, [_row(1.0), _row(2.0, m=16)], [_row(1.0)]), "cpu")
    with Store.open(folder.store("cpu"), read_only=True) as store:
        assert [row["m"] for row in store.rows("single_gemm")] == [8, 16]


def test_a_decode_step_sees_its_own_token() -> None:
    """An off-by-one in the KV length compares two different steps."""
    rows = batch_of(ForwardCase(8, 1, 512)).rows
    assert rows.kv_len.tolist() == [513] * 8
    assert rows.q_len.tolist() == []
    prefill = batch_of(ForwardCase(1, 128, 0)).rows
    assert (prefill.q_len.tolist(), prefill.prefix_len.tolist()) == ([128], [0])


def test_what_is_measured_covers_every_case_and_nothing_twice() -> None:
    """A case outside the measured domain would be extrapolated and still compared."""
    subject = Subject.read("qwen3-0.6b", DEVICE)
    jobs = jobs_for(subject.facts, subject.options, CASES)
    shapes = [(job.kind, job.backend, tuple(spec.values())) for job in jobs for spec in job.specs]
    assert len(shapes) == len(set(shapes))
    decode = [spec for job in jobs if job.kind == "attention_decode" for spec in job.specs]
    assert max(int(spec["kv_len"]) for spec in decode) >= 513
    assert max(int(spec["batch_size"]) for spec in decode) >= 8
    lm_head = [spec for job in jobs if job.kind == "single_gemm" for spec in job.specs if spec["n"] == 151936]
    assert max(int(spec["m"]) for spec in lm_head) == 8  # sampled positions only


def test_the_host_is_calibrated_on_the_same_architecture() -> None:
    """Other layers would run other host code: qk-norm, rope and cache updates have to be there."""
    subject = Subject.read("qwen3-0.6b", DEVICE)
    small = narrow(subject, 3)
    assert (small.facts.model_type, small.facts.qk_norm, small.facts.num_layers) == ("qwen3", True, 3)
    assert small.facts.parameters < subject.facts.parameters / 40


@pytest.mark.parametrize("values", [(1, 2, 4, 8), (1, 16, 32), (0, 256, 1024), (7,)])
def test_probes_lie_off_the_grid(values: tuple[int, ...]) -> None:
    """A probe on a grid point finds the measured value itself: every cache would pass."""
    probes = _between(values)
    assert all(values[0] <= probe <= values[-1] for probe in probes)
    if len(values) > 1:
        assert not set(probes) & set(values)


def test_forward_passes_of_another_key_are_not_reused(tmp_path: Path) -> None:
    """Steps of another model, thread count or torch beside today's predictions compare nothing."""
    timing = {"median_ms": 1.0, "p10_ms": 1.0, "p90_ms": 1.0, "cv": 0.0, "samples": 3}
    passes = {f"{CASES[0].label}, round 0": timing | {"outlier": False, "outlier_reason": ""}}
    folder = Folder(tmp_path)
    folder.forwards.write_text(json.dumps({"one": passes}), encoding="utf-8")
    subject = Subject.read("qwen3-0.6b", DEVICE)
    assert Forwards(subject, folder, 1, "one").of(CASES[0], 0).median_ms == 1.0
    with pytest.raises(KeyError):
        Forwards(subject, folder, 1, "two").of(CASES[0], 0)


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ServingSimError, match="no-such-model") as refusal:
        Subject.read("no-such-model", DEVICE)
    assert "qwen3-0.6b" in refusal.value.known


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"one": 3}', '{"one": {"a": {"median": 1}}}', "\x00\xff"]
)
def test_a_damaged_file_of_passes_is_refused(tmp_path: Path, content: str) -> None:
    """A file that a crash or a hand has spoiled must say so, not end in a traceback."""
    folder = Folder(tmp_path)
    folder.forwards.write_text(content, encoding="latin-1")
    with pytest.raises(ServingSimError, match=r"forward\.json") as refusal:
        Forwards(Subject.read("qwen3-0.6b", DEVICE), folder, 1, "one")
    assert refusal.value.code == "E_STATE"
