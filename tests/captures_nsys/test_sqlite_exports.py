"""Exports of Nsight Systems as SQLite: every version says the same launches."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from profiling.captures.contract import KernelLaunch, Mark

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Kernel = Callable[..., dict[str, Any]]
    Strings = list[dict[str, Any]]
    WriteExport = Callable[..., Path]
    ReadSqlite = Callable[[Path], Any]

PROCESS = 144


def test_a_launch_is_handed_on_whole(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel, strings: Strings
) -> None:
    """Defect: an end taken for a duration, a short name for the whole, a global id for a process's."""
    kept = read_sqlite(
        write_export({"CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(1000, 1300)], "StringIds": strings})
    )
    assert kept.launches == [
        KernelLaunch(
            name="void gemm<float>(T1)", start_ns=1000, duration_ns=300, device=0, process=PROCESS, stream=7,
            correlation=1000, grid=(4, 1, 1, 128, 1, 1),
        )
    ]  # fmt: skip


def test_an_old_schema_without_the_newer_columns_is_read(
    write_export: WriteExport, read_sqlite: ReadSqlite
) -> None:
    """Defect: `no such column` for every export that an older version wrote."""
    rows = [{"start": 5, "end": 9, "shortName": 1}]
    kept = read_sqlite(
        write_export({"CUPTI_ACTIVITY_KIND_KERNEL": rows, "StringIds": [{"id": 1, "value": "k"}]})
    )
    assert kept.launches == [KernelLaunch("k", 5, 4)]


def test_names_in_the_row_and_names_that_are_missing_keep_their_time(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel
) -> None:
    """Defect: kernels dropped because their name's number is not in StringIds."""
    rows = [rows_of(1, 4, "inline_kernel"), rows_of(10, 15, 99)]
    kept = read_sqlite(write_export({"CUPTI_ACTIVITY_KIND_KERNEL": rows}))
    assert [(each.name, each.duration_ns) for each in kept.launches] == [
        ("inline_kernel", 3),
        ("unnamed kernel 99", 5),
    ]
    assert kept.facts["unnamed_kernels"] == "1"


@pytest.mark.parametrize("name", ["NVTX_EVENTS", "NVTX_EVENTS_V2", "NVTX_EVENTS_V3"])
def test_ranges_are_found_under_every_name_of_their_table(
    name: str,
    write_export: WriteExport,
    read_sqlite: ReadSqlite,
    rows_of: Kernel,
    strings: Strings,
    thread: int,
) -> None:
    """Defect: steps lost because the table is not called NVTX_EVENTS."""
    table = [
        {"start": 1, "end": 9, "text": "step", "textId": None, "globalTid": thread, "eventType": 59},
        {"start": 2, "end": 8, "text": None, "textId": 2, "globalTid": thread, "eventType": 60},
        {"start": 3, "end": None, "text": "open", "textId": None, "globalTid": thread, "eventType": 59},
        {"start": 4, "end": None, "text": "a mark", "textId": None, "globalTid": thread, "eventType": 34},
    ]
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(1, 2)], "StringIds": strings, name: table}
    kept = read_sqlite(write_export(tables))
    assert kept.marks == [
        Mark("step", 1, 9, process=PROCESS, thread=7),
        Mark("norm_kernel", 2, 8, process=PROCESS, thread=7),
    ]
    assert kept.damages == {"ranges that never end": 1}


def test_only_the_newest_of_two_tables_of_one_kind_is_read(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel, strings: Strings
) -> None:
    """Defect: every kernel counted twice where two versions lie side by side."""
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(1, 2)],
        "CUPTI_ACTIVITY_KIND_KERNEL_V10": [rows_of(1, 2)],
        "CUPTI_ACTIVITY_KIND_KERNEL_V9": [rows_of(1, 2)],
        "StringIds": strings,
    }
    assert len(read_sqlite(write_export(tables)).launches) == 1


def test_a_call_that_is_written_twice_does_not_double_its_kernel(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel, strings: Strings, thread: int
) -> None:
    """Defect: a join that multiplies launches, and an operation taken from another thread or an enclosing range."""
    runtime = [
        {"start": 15, "globalTid": thread, "correlationId": 1000},
        {"start": 16, "globalTid": thread, "correlationId": 1000},
        {"start": 15, "globalTid": thread + (1 << 24), "correlationId": 1000},
    ]
    outer = "aten::linear, seq = 4, op_id = 1, sizes = [[8, 4], [2, 4]], input_op_ids = [(0,0)]"
    ranges = [
        {"start": 1, "end": 90, "text": outer, "globalTid": thread, "eventType": 59},
        {"start": 14, "end": 20, "text": "aten::mm, op_id = 2, sizes = [[8, 4], [4, 2]]", "globalTid": thread,
         "eventType": 59},
        {"start": 14, "end": 20, "text": "aten::add, op_id = 3", "globalTid": thread + 1, "eventType": 59},
        {"start": 2, "end": 3, "text": "aten::t, op_id = 9", "globalTid": thread, "eventType": 59},
        {"start": 1, "end": 99, "text": "layer forward, op_id = 5", "globalTid": thread, "eventType": 59},
    ]  # fmt: skip
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(1000, 1300), rows_of(2000, 2001)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": runtime,
        "NVTX_EVENTS": ranges,
        "StringIds": strings,
    }
    kept = read_sqlite(write_export(tables))
    assert [(each.cpu_op, each.shapes, each.launched_ns) for each in kept.launches] == [
        ("aten::mm", "[[8, 4], [4, 2]]", 15),
        ("", "", -1),
    ]
    assert [each.name for each in kept.marks] == ["layer forward"]


def test_graph_nodes_are_told_from_whole_graphs(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel, strings: Strings
) -> None:
    """Defect: a graph replay of a thousand kernels counted as one kernel, in silence."""
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(1, 2, graphNodeId=12), rows_of(3, 5)],
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [{"start": 10, "end": 99, "graphId": 3}] * 2,
        "StringIds": strings,
    }
    kept = read_sqlite(write_export(tables))
    assert [each.graph for each in kept.launches] == [True, False]
    assert [(what[:30], count) for what, count in kept.damages.items()] == [
        ("graph replays recorded as one ", 2)
    ]


def test_processes_that_each_count_from_zero_keep_their_devices(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel, strings: Strings
) -> None:
    """Defect: two ranks' kernels added up as if one GPU ran them."""
    other = 0x0100_0000_0000_0000 | 145 << 24
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(1, 2), rows_of(1, 2, globalPid=other)],
        "TARGET_INFO_GPU": [{"id": 4, "name": "H100"}, {"id": 5, "name": "H100"}],
        "TARGET_INFO_CUDA_DEVICE": [
            {"gpuId": 4, "cudaId": 0, "pid": PROCESS},
            {"gpuId": 5, "cudaId": 0, "pid": 145},
        ],
        "StringIds": strings,
    }
    kept = read_sqlite(write_export(tables))
    assert [(each.process, each.device) for each in kept.launches] == [(PROCESS, 4), (145, 5)]
    assert kept.devices == {4: "H100", 5: "H100"}


def test_copies_and_fills_are_told_from_kernels(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel, strings: Strings
) -> None:
    copy = {key: rows_of(3, 7)[key] for key in ("start", "end", "deviceId", "globalPid", "streamId")}
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(1, 2)],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [
            copy | {"copyKind": 1},
            copy | {"copyKind": 8},
            copy | {"copyKind": 77},
        ],
        "CUPTI_ACTIVITY_KIND_MEMSET": [copy],
        "StringIds": strings,
    }
    found = [(each.name, each.kind) for each in read_sqlite(write_export(tables)).launches[1:]]
    assert found == [
        ("Memcpy HtoD", "memcpy"),
        ("Memcpy DtoD", "memcpy"),
        ("Memcpy other", "memcpy"),
        ("Memset", "memset"),
    ]


def test_a_kernel_without_an_end_is_counted_as_damaged(
    write_export: WriteExport, read_sqlite: ReadSqlite, rows_of: Kernel, strings: Strings
) -> None:
    """Defect: a missing end summed as a duration, or dropped without a word. Negative ones go to the judge."""
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [rows_of(9, 4), rows_of(2, None)],
        "StringIds": strings,
    }
    kept = read_sqlite(write_export(tables))
    assert [each.duration_ns for each in kept.launches] == [-5]
    assert kept.damages == {"kernels without a start or an end": 1}


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "kernels", "total_ns", "devices"),
    [("h100_2gpu_1s", 3442, 44_829_522, 2), ("mfu_2gpu_before", 4010, None, 2), ("mock", 2, 4129, 1)],
)
def test_real_exports_keep_every_kernel_and_nanosecond(
    name: str, kernels: int, total_ns: int | None, devices: int, shared_data: Path, read_sqlite: ReadSqlite
) -> None:
    """Defect: kernels lost or doubled by a join; two GPUs taken for one."""
    kept = read_sqlite(shared_data / "captures" / "nsys_sqlite" / f"{name}.sqlite")
    ran = [each for each in kept.launches if each.kind == "kernel"]
    assert len(ran) == kernels
    assert total_ns in {None, sum(each.duration_ns for each in ran)}
    assert len({(each.process, each.device) for each in ran}) == devices
    assert kept.facts["schema"].startswith("3.2")
    assert not kept.damages


@pytest.mark.shared
def test_real_ranges_name_the_operations_that_launched(shared_data: Path, read_sqlite: ReadSqlite) -> None:
    """Defect: a launch given to the operation that ran before it, or to none."""
    kept = read_sqlite(shared_data / "captures" / "nsys_sqlite" / "mfu_2gpu_before.sqlite")
    gemms = Counter(each.cpu_op for each in kept.launches if each.name.startswith("nvjet"))
    assert gemms == {"aten::addmm": 335, "": 2}
