"""`servingsim fidelity`: a user's own rows judged, and files that are wrong refused with line and column."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from server.cli import cli
from servingsim.timing.fidelity.report import FidelityReport

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "m,n,k,dtype,time_us"
OPTIONS = ("--kind", "single_gemm", "--device", "NVIDIA H100 80GB HBM3", "--backend", "mine")


def _lines(unit: float = 1.0) -> list[str]:
    return [f"{2**power},4096,4096,bf16,{(20 + 2**power / 8) * unit}" for power in range(12)] + [
        f"{3 * 2**power},4096,4096,bf16,{(20 + 3 * 2**power / 8) * unit}" for power in range(4, 9)
    ]


def _csv(folder: Path, header: str, lines: list[str]) -> str:
    path = folder / "rows.csv"
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return str(path)


def _run(*args: str, code: int = 0) -> Any:  # noqa: ANN401 - JSON
    done = CliRunner().invoke(cli, ["fidelity", *args, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def _refused(*args: str) -> dict[str, str]:
    error: dict[str, str] = _run(*args, code=2)["error"]
    return error


def test_a_csv_of_measured_kernels_is_judged(tmp_path: Path) -> None:
    """Defect: the command answers, but with a report that its schema does not describe."""
    report = FidelityReport.model_validate(_run("--csv", _csv(tmp_path, HEADER, _lines()), *OPTIONS))
    (table,) = report.tables
    assert (table.kind, table.backend, table.rows, table.configs) == ("single_gemm", "mine", 17, 1)
    powers = next(split for split in table.splits if split.name == "powers")
    assert powers.ours is not None
    assert powers.ours.points == 5
    assert powers.ours.mape_percent < 5


def test_times_in_other_units_give_the_same_report(tmp_path: Path) -> None:
    """Defect: microseconds are read as milliseconds."""
    us = _run("--csv", _csv(tmp_path, HEADER, _lines()), *OPTIONS)
    ms = _run("--csv", _csv(tmp_path, HEADER.replace("time_us", "time_ms"), _lines(1e-3)), *OPTIONS)
    assert us["tables"][0]["splits"][0]["ours"] == pytest.approx(ms["tables"][0]["splits"][0]["ours"])


def test_repeated_lines_are_the_noise_floor_not_two_shapes(tmp_path: Path) -> None:
    """Defect: a shape that was measured twice is refused, or its spread is lost."""
    repeated = [line.replace(",bf16,", ",bf16,1") for line in _lines()[:1]]
    table = _run("--csv", _csv(tmp_path, HEADER, [*_lines(), *repeated]), *OPTIONS)["tables"][0]
    assert table["rows"] == 17
    assert table["noise_percent"] > 50


@pytest.mark.parametrize(
    ("header", "line", "where", "said"),
    [
        ("m,n,k,dtype", "1,4096,4096,bf16", ":1", "no column of times"),
        ("m,n,k,dtype,time_ms,time_us", "1,4096,4096,bf16,1,1", ":1", "time_ms"),
        ("m,n,n,k,dtype,time_us", "1,1,1,1,bf16,1", ":1", "stands twice"),
        ("m,n,k,dtype,time_us", "1,4096,4096,bf16", ":2", "4 values"),
        ("m,n,k,dtype,time_us", "1,4096,4096,bf16,fast", ":2", "column time_us"),
        ("m,n,k,dtype,time_us", "1,4096,4096,bf16,-3", ":2", "column time_us"),
        ("m,n,k,dtype,time_us", "1,,4096,bf16,3", ":2", "column n"),
        ("m,n,dtype,time_us", "1,4096,bf16,3", ":2", "column k"),
        ("m,n,k,dtype,colour,time_us", "1,4096,4096,bf16,red,3", ":2", "column colour"),
        ("m,n,k,dtype,time_us", "1.5,4096,4096,bf16,3", ":2", "m"),
        ("m,n,k,dtype,time_us", "1,4096,4096,bf15,3", ":2", "dtype"),
    ],
)
def test_what_is_wrong_in_a_csv_is_named_with_line_and_column(
    tmp_path: Path, header: str, line: str, where: str, said: str
) -> None:
    """Defect: a traceback, or a row that is dropped in silence."""
    error = _refused("--csv", _csv(tmp_path, header, [line]), *OPTIONS)
    told = f"{error.get('path', '')} {error['message']}"
    assert where in told
    assert said in told


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--csv", "rows.csv", "--db", "rows.db"),
        ("--csv", "absent.csv"),
        ("--db", "absent.db"),
        ("--system", "h100_sxm"),
    ],
)
def test_no_rows_or_two_sources_are_refused_with_a_next_step(args: tuple[str, ...]) -> None:
    """Defect: an empty report reads as a perfect one."""
    error = _refused(*args)
    assert error.get("hint") or error.get("known") or error.get("path")


def test_a_line_that_names_no_device_says_how_to_name_it(tmp_path: Path) -> None:
    """Defect: rows of an unknown device are judged against no limit, without a word."""
    error = _refused("--csv", _csv(tmp_path, HEADER, _lines()), "--kind", "single_gemm", "--backend", "mine")
    assert "device" in error["message"]
    assert "--device" in error["hint"]


def test_a_device_without_known_limits_is_judged_and_said_so(tmp_path: Path) -> None:
    """Defect: a GPU that no datasheet lists cannot be judged at all."""
    path = _csv(tmp_path, HEADER, _lines())
    report = _run("--csv", path, "--kind", "single_gemm", "--device", "My GPU", "--backend", "mine")
    assert "My GPU" in report["notes"][0]
