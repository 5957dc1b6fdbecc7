"""Which files are read: systems, stacks, versions, reuse; and what is said of names that are not there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from profiling.cli import run
from profiling.device_row import DeviceRow
from profiling.importers.aiconfigurator import IMPORTER, systems_tree
from profiling.importers.aiconfigurator.versions import nearest, version_key
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from profiling.store import Store

pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

WriteTable = Callable[[str, Sequence[Mapping[str, Any]]], Path]
Row = Callable[..., dict[str, Any]]
GPU = "NVIDIA H100 80GB HBM3"


def reuse(folder: Path, table: str, version: str) -> None:
    """Write a reuse file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reuse.yaml").write_text(f"reuse:\n- {{table: {table}, from_version: '{version}'}}\n")


def test_second_import_changes_nothing(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: rows doubled or touched by a repetition, so that nobody sees what a new version of the data changed."""
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(m=m) for m in (1, 1, 2, 3)])
    first = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    before = store.version()[1]
    second = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert (first.inserted, first.updated, first.unchanged) == (3, 0, 0)
    assert (second.inserted, second.updated, second.unchanged) == (0, 0, 3)
    assert store.version()[1] == before


def test_changed_data_updates_its_rows_only(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: a corrected table imported beside the old rows instead of over them."""
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(m=1), gemm_row(m=2)])
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(m=1), gemm_row(m=2, latency=0.02), gemm_row(m=3)])
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert (report.inserted, report.updated, report.unchanged) == (1, 1, 1)


def test_the_device_is_stored_with_the_limits_of_the_system_file(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: rows of a device whose limits nobody knows, so that no estimate can be bounded."""
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row()])
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    (device,) = store.devices()
    assert (device.name, device.memory_bytes, device.multiprocessors) == (GPU, 80 * 2**30, 132)
    assert (device.memory_bytes_per_s, device.link_bytes_per_s) == (3.35e12, 4.5e11)
    assert device.peak_flops["bf16"] == 989e12
    assert device.peak_flops["fp8_block"] == 1978e12
    assert device.last_level_cache_bytes == 50 * 2**20
    assert device.limits_origin == "aiconfigurator: tiny.yaml"
    assert device.source == "systems folder systems: tiny.yaml; cache and multiprocessors: vendor datasheet"


def test_limits_that_were_measured_on_the_machine_itself_stay(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: a datasheet's peak put over a measured one."""
    measured = DeviceRow(GPU, "cuda", 1, {"bf16": 7e14}, 3e12, limits_origin="measured")
    store.put_device(measured)
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row()])
    IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert store.devices() == [replace(measured)]


def test_reuse_takes_the_named_version_and_says_both(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: rows of another version passed off as measured with this one; or a chain that ends after one step."""
    path = write_table("gemm/vllm/0.8.0/gemm_perf", [gemm_row(version="0.8.0")])
    reuse(path.parents[1] / "0.9.0", "gemm_perf", "0.8.0")
    reuse(path.parents[1] / "0.10.0", "gemm_perf", "0.9.0")
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    (row,) = store.rows("single_gemm")
    assert (row["backend"], row["framework_version"]) == ("vllm-0.10.0:linear", "0.8.0")
    assert row["source"].endswith(
        "0.8.0/gemm_perf.parquet (measured with 0.8.0, stands for 0.10.0 by reuse.yaml)"
    )
    assert "gemm: vllm 0.10.0 reuses measurements of 0.8.0" in report.notes


def test_a_version_keeps_its_own_rows_and_reuses_the_others(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: an older kernel's row for a shape that the version measured, chosen because it is faster."""
    rows = [
        gemm_row(m=1, version="0.8.0", kernel_source="old", latency=0.001),
        gemm_row(m=2, version="0.8.0"),
    ]
    path = write_table("gemm/vllm/0.8.0/gemm_perf", rows)
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(m=1, latency=0.02)])
    reuse(path.parents[1] / "0.10.0", "gemm_perf", "0.8.0")
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    found = [(row["m"], row["backend"], row["median_ms"], row["framework_version"])
             for row in store.rows("single_gemm")]  # fmt: skip
    assert found == [(1, "vllm-0.10.0:linear", 0.02, "0.10.0"), (2, "vllm-0.10.0:linear", 0.01, "0.8.0")]
    assert report.tables["gemm"].rows_superseded == 1


@pytest.mark.parametrize("target", ["0.9.0", "0.10.0", "7.7", "../../../../outside", ""])
def test_reuse_that_leads_nowhere_is_an_error(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row, target: str
) -> None:
    """Defect: an endless loop through files that name each other, or a path out of the data folder."""
    path = write_table("gemm/vllm/0.1.0/gemm_perf", [gemm_row()])
    reuse(path.parents[1] / "0.10.0", "gemm_perf", target)
    reuse(path.parents[1] / "0.9.0", "gemm_perf", "0.10.0")
    with pytest.raises(ServingSimError):
        IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems), table=("gemm",))
    assert not store.path.exists()


def test_mutual_reuse_of_versions_with_files_is_no_loop(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: the guard against loops refuses two versions that complete each other."""
    path = write_table("gemm/vllm/0.8.0/gemm_perf", [gemm_row(m=2)])
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(m=1)])
    reuse(path.parent, "gemm_perf", "0.10.0")
    reuse(path.parents[1] / "0.10.0", "gemm_perf", "0.8.0")
    assert IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems)).rows_kept == 2


def test_communication_falls_back_to_a_near_version_and_says_so(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: no all-reduce at all, or one of another version under this version's name."""
    row = {
        "op_name": "all_reduce", "kernel_source": "graph", "allreduce_dtype": "bfloat16", "num_gpus": 2,
        "message_size": 128, "latency": 0.004, "device": GPU, "framework": "vLLM",
    }  # fmt: skip
    for version in ("0.2.0", "0.9.0", "0.11.0"):
        write_table(f"comm/vllm/{version}/custom_allreduce_perf", [row | {"version": version}])
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row()])
    report = IMPORTER.run(store, system="tiny", stack="vllm", systems_dir=str(systems))
    assert [found["backend"] for found in store.rows("all_reduce")] == ["vllm-0.9.0:graph"]
    assert "custom_allreduce: the table of vllm 0.9.0, since there is none of 0.10.0" in report.notes


def test_default_version_is_the_current_one_and_else_the_newest(
    store: Store, systems: Path, write_table: WriteTable, gemm_row: Row
) -> None:
    """Defect: 0.9 taken for newer than 0.10, or an unfinished next version imported unasked."""
    for version in ("0.9.0", "0.10.0", "0.11.0"):
        write_table(f"gemm/vllm/{version}/gemm_perf", [gemm_row(version=version)])
    arguments: dict[str, Any] = {"system": "tiny", "stack": "vllm", "systems_dir": str(systems)}
    assert IMPORTER.run(store, **arguments).version == "0.10.0"
    (systems / "query_versions.yaml").unlink()
    assert IMPORTER.run(store, **arguments).version == "0.11.0"
    overrides = "overrides: {tiny: {vllm: {current: '0.9.0', previous: '0.10.0'}}}"
    (systems / "query_versions.yaml").write_text(overrides)
    assert IMPORTER.run(store, **arguments).version == "0.9.0"
    assert IMPORTER.run(store, **arguments, version="previous").version == "0.10.0"


def test_versions_sort_as_their_makers_mean_them() -> None:
    """Defect: a release candidate taken for newer than its release, or 9 for newer than 10."""
    ordered = [
        "0.9.1",
        "0.10.0",
        "1.0.0rc3",
        "1.0.0",
        "1.0.0.post1",
        "1.3.0rc9",
        "1.3.0rc10",
        "1.3.0",
        "2021.15.9",
    ]
    assert sorted(set(ordered), key=version_key) == ordered
    assert nearest("1.1.0", ordered) == "1.0.0.post1"
    assert nearest("0.1.0", ordered) == "2021.15.9"


NAMES = [
    (["--system", "h100"], "unknown system 'h100'", "tiny"),
    (["--system", "../data"], "unknown system '../data'", "tiny"),
    ([], "no system is named", "tiny"),
    (["--system", "tiny"], "no stack is named", "vllm"),
    (["--system", "tiny", "--stack", "tgi"], "unknown stack 'tgi'", "vllm"),
    (["--system", "tiny", "--stack", "vllm", "--version", "9"], "unknown version '9'", "0.9.0, 0.10.0"),
    (["--system", "tiny", "--stack", "vllm", "--table", "gem"], "unknown table 'gem'", "gemm"),
    (["--system", "tiny", "--stack", "vllm", "--table", "moe"], "no table moe", "none"),
]


@pytest.mark.parametrize(("arguments", "message", "known"), NAMES)
def test_unknown_names_are_refused_with_those_that_exist_and_nothing_is_written(
    tmp_path: Path,
    systems: Path,
    write_table: WriteTable,
    gemm_row: Row,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
    known: str,
) -> None:
    """Defect: a traceback, exit 0, or an empty store left behind by a typing error."""
    for version in ("0.9.0", "0.10.0"):
        write_table(f"gemm/vllm/{version}/gemm_perf", [gemm_row()])
    db = tmp_path / "never.db"
    line = ["import", "aiconfigurator", "--systems-dir", str(systems), *arguments, "--db", str(db), "--json"]
    assert run(line) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert message in error["message"]
    assert known in error["known"]
    assert not db.exists()


def test_command_line_reports_in_json(
    tmp_path: Path, systems: Path, write_table: WriteTable, gemm_row: Row, capsys: pytest.CaptureFixture[str]
) -> None:
    """Defect: a report that is no JSON, or options that do not reach the importer."""
    write_table("gemm/vllm/0.10.0/gemm_perf", [gemm_row(), gemm_row(latency=0.0)])
    write_table("mla/vllm/0.10.0/mla_context_module_perf", [gemm_row()])
    write_table("comm/vllm/0.10.0/wideep_deepep_normal_perf", [gemm_row()])
    line = ["import", "aiconfigurator", "--systems-dir", str(systems), "--system", "tiny", "--stack", "vllm"]
    assert run([*line, "--db", str(tmp_path / "x.db"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rows_read"], report["rows_kept"], report["rows_refused"]) == (2, 1, 1)
    assert report["tables"]["gemm"]["refused"]["latency is zero"]["rows"] == 1
    assert set(report["not_imported"]) == {"mla_context_module_perf", "wideep_deepep_normal_perf"}
    assert "wide expert parallelism" in report["not_imported"]["wideep_deepep_normal_perf"]
    assert run([*line, "--db", str(tmp_path / "x.db")]) == 0
    assert "unchanged: 1" in capsys.readouterr().out


def test_without_the_package_the_extra_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defect: ModuleNotFoundError instead of what to install."""
    monkeypatch.setattr(systems_tree, "PACKAGE", "a_package_that_nobody_has")
    with pytest.raises(ServingSimError) as caught:
        IMPORTER.run(store, system="h100_sxm", stack="vllm")
    assert "pip install 'servingsim[gpu-data]'" in caught.value.hint
    assert caught.value.code == "E_TOOLCHAIN"
    assert not store.path.exists()
