"""The store: what goes in comes out, what is wrong stays out, and no file is touched that is not a store."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiling import registry
from profiling.device_row import DeviceRow
from profiling.records import decode_timing
from profiling.row import MeasuredRow, Origins, Timing
from profiling.schema import APPLICATION_ID, SCHEMA_VERSION
from profiling.store import Store, UpsertCount
from servingsim.errors import ServingSimError
from servingsim.timing.source import HostOverhead, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHECKOUT = Path(registry.__file__).parents[1]
ORIGINS = Origins(
    "imported",
    "NVIDIA Test",
    "lib-1:call",
    "lib",
    "1",
    "550.1",
    {"lib": "1"},
    "a file",
    "2026-01-01T00:00:00Z",
)
TIMING = Timing(median_ms=1.5, p10_ms=1.25, p90_ms=2.0, cv=0.125, samples=10)

positive = st.floats(1e-9, 1e9)
spreads = st.floats(0, 1e3) | st.just(math.nan)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
libraries = st.dictionaries(texts, texts, max_size=3).map(lambda found: dict(sorted(found.items())))


def gemm(m: int, *, timing: Timing = TIMING, origins: Origins = ORIGINS) -> MeasuredRow:
    return MeasuredRow("single_gemm", {"m": m, "n": 8, "k": 8, "dtype": "fp32"}, timing, origins)


@st.composite
def rows(draw: st.DrawFn) -> MeasuredRow:
    kind = draw(st.sampled_from(["single_gemm", "rms_norm", "elementwise"]))
    smoke = registry.kind_named(kind).smoke
    args = {name: draw(st.integers(1, 2**20)) if isinstance(v, int) else v for name, v in smoke.items()}
    timing = Timing(
        draw(positive), draw(spreads), draw(spreads), draw(spreads), draw(st.integers(1, 10**9)),
        draw(st.booleans()), draw(texts),
    )  # fmt: skip
    origins = Origins(
        draw(st.sampled_from(["measured", "imported", "estimated"])), draw(names), draw(names), draw(texts),
        draw(texts), draw(texts), draw(libraries), draw(texts), draw(texts),
    )  # fmt: skip
    return MeasuredRow(kind, args, timing, origins)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "rows.db", create=True) as opened:
        yield opened


def as_row(kind: str, stored: dict[str, Any]) -> MeasuredRow:
    """A stored row as the object that was written."""
    fields = registry.kind_named(kind).fields
    names = (
        "origin",
        "device",
        "backend",
        "framework",
        "framework_version",
        "driver",
        "libraries",
        "source",
        "measured_at",
    )
    origins = Origins(**{name: stored[name] for name in names})
    return MeasuredRow(kind, {name: stored[name] for name in fields}, decode_timing(stored), origins)


def key(row: MeasuredRow) -> tuple[object, ...]:
    return (row.kind, row.origins.device, row.origins.backend, *row.args.values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(written=st.lists(rows(), max_size=12, unique_by=key))
def test_rows_come_back_as_they_were_written(
    written: list[MeasuredRow], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Defect: a column that is dropped, rounded, reordered or turned from NaN into a number."""
    path = tmp_path_factory.mktemp("store") / "rows.db"
    with Store.open(path, create=True) as store:
        assert store.upsert(written) == UpsertCount(inserted=len(written))
        assert store.upsert(written) == UpsertCount(unchanged=len(written))
        kinds = ["elementwise", "rms_norm", "single_gemm"]
        found = [as_row(kind, row) for kind in kinds for row in store.rows(kind)]
        assert {key(row): repr(row) for row in found} == {key(row): repr(row) for row in written}
        assert sum(count.rows for count in store.counts()) == len(written)
        for row in written:
            existing = store.existing(row.kind, row.origins.device, row.origins.backend)
            assert tuple(row.args.values()) in existing


def test_a_row_of_the_same_key_is_replaced_and_counted(store: Store) -> None:
    """Defect: a second measurement makes a second row, or leaves the old time."""
    store.upsert([gemm(1), gemm(2), gemm(3)])
    again = [gemm(1), gemm(2, timing=replace(TIMING, median_ms=9.0)), gemm(4)]
    assert store.upsert(again) == UpsertCount(inserted=1, updated=1, unchanged=1)
    assert [row["median_ms"] for row in store.rows("single_gemm")] == [1.5, 9.0, 1.5, 1.5]


def test_a_row_that_was_only_measured_later_is_unchanged(store: Store) -> None:
    """Defect: a second import of the same data rewrites every row, because the clock went on."""
    store.upsert([gemm(1)])
    later = replace(ORIGINS, measured_at="2030-01-01T00:00:00Z")
    assert store.upsert([gemm(1, origins=later)]) == UpsertCount(unchanged=1)
    assert store.rows("single_gemm")[0]["measured_at"] == ORIGINS.measured_at


def test_devices_and_backends_are_keys_of_their_own(store: Store) -> None:
    """Defect: the time of one device or backend overwrites another's."""
    others = [replace(ORIGINS, device="NVIDIA Other"), replace(ORIGINS, backend="other")]
    assert store.upsert([gemm(1), *(gemm(1, origins=origins) for origins in others)]).inserted == 3
    assert len(store.rows("single_gemm", device="NVIDIA Test", backend="lib-1:call")) == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (gemm(0), "m: Input should be greater than or equal to 1"),
        (MeasuredRow("single_gemm", {"m": 1}, TIMING, ORIGINS), "n: Field required"),
        (gemm(1, origins=replace(ORIGINS, backend="")), "without a device or a backend"),
        (MeasuredRow("no_kind", {"m": 1}, TIMING, ORIGINS), "unknown kind 'no_kind'"),
        (gemm(1, timing=replace(TIMING, median_ms=0.0)), "0.0 ms from 10 samples"),
        (gemm(1, timing=replace(TIMING, median_ms=math.nan)), "nan ms"),
        (gemm(1, timing=replace(TIMING, median_ms=-1.0)), "-1.0 ms"),
        (gemm(1, timing=replace(TIMING, samples=0)), "from 0 samples"),
    ],
)
def test_a_row_that_is_not_valid_keeps_its_whole_batch_out(
    store: Store, bad: MeasuredRow, message: str
) -> None:
    """Defect: zeros and half rows among the times; and a store that a refused write has created."""
    with pytest.raises(ServingSimError) as refusal:
        store.upsert([gemm(5), bad])
    assert message in refusal.value.what
    assert not store.path.exists()


def test_columns_hold_what_rows_hold(store: Store) -> None:
    """Defect: times and args that are paired up wrongly in the numpy form."""
    timings = [replace(TIMING, median_ms=float(m), cv=math.nan if m % 2 else 0.5) for m in range(1, 6)]
    store.upsert(gemm(m, timing=timing) for m, timing in enumerate(timings, 1))
    columns = store.columns("single_gemm", "NVIDIA Test", "lib-1:call", {"n": 8, "dtype": "fp32"}, ("k", "m"))
    assert columns is not None
    assert columns.args["m"].tolist() == columns.time_ms.tolist() == [1, 2, 3, 4, 5]
    assert columns.args["k"].tolist() == [8] * 5
    assert [math.isnan(noise) for noise in columns.noise] == [True, False, True, False, True]
    assert columns.provenance == Provenance(
        "imported", "NVIDIA Test", "lib-1:call", "lib", "1", "a file", "2026-01-01T00:00:00Z"
    )
    assert store.columns("single_gemm", "NVIDIA Test", "lib-1:call", {"n": 9}, ("m",)) is None
    assert store.columns("rms_norm", "NVIDIA Test", "lib-1:call", {}, ("num_tokens",)) is None


def test_a_field_that_the_kind_does_not_have_is_refused_everywhere(store: Store) -> None:
    """Defect: a typo reaches SQL."""
    for ask in (
        lambda: store.rows("single_gemm", args={"q] = 1 --": 1}),
        lambda: store.columns("single_gemm", "d", "b", {"q": 1}, ("m",)),
        lambda: store.columns("single_gemm", "d", "b", {}, ("q",)),
    ):
        with pytest.raises(ServingSimError, match="unknown field of single_gemm"):
            ask()


def test_devices_and_host_overheads_come_back(store: Store) -> None:
    """Defect: a device without its peaks, a host term under another stack."""
    device = DeviceRow(
        "NVIDIA Test",
        "cuda",
        2**36,
        {"bf16": 9e14},
        3e12,
        4e11,
        2**25,
        132,
        0,
        "550.1",
        {"torch": "2"},
        "measured",
        "s",
        "t",
    )
    assert store.put_device(device) == UpsertCount(inserted=1)
    assert store.put_device(device) == UpsertCount(unchanged=1)
    changed = replace(device, memory_bytes_per_s=4e12)
    assert store.put_device(changed) == UpsertCount(updated=1)
    assert store.devices() == [changed]
    overhead = HostOverhead(1.5, 0.25, Provenance("measured", "NVIDIA Test", "b", "vllm", "1", "s", "t"))
    store.put_host("vllm", overhead)
    assert store.host("NVIDIA Test", "vllm") == overhead
    assert store.host("NVIDIA Test", "sglang") is None
    with pytest.raises(ServingSimError, match="host overhead of nan ms"):
        store.put_host("vllm", replace(overhead, per_layer_ms=math.nan))


def test_opening_never_creates_a_file(tmp_path: Path) -> None:
    """Defect: a mistyped path leaves an empty database, and the next question finds "no rows"."""
    path = tmp_path / "rows.db"
    with pytest.raises(ServingSimError, match="no such database"):
        Store.open(path)
    with pytest.raises(ServingSimError, match="no such database"):
        Store.open(path, read_only=True)
    with Store.open(path, create=True) as store:
        assert store.rows("single_gemm") == []
        assert store.counts() == []
        assert store.devices() == []
    assert list(tmp_path.iterdir()) == []


def test_reading_changes_nothing_and_refuses_writes(store: Store) -> None:
    """Defect: a reader that writes, or leaves journal files beside the database."""
    store.upsert([gemm(1)])
    store.close()
    before = store.path.read_bytes()
    with Store.open(store.path, read_only=True) as reader:
        assert len(reader.rows("single_gemm")) == 1
        with pytest.raises(ServingSimError, match="was opened for reading"):
            reader.upsert([gemm(2)])
    assert store.path.read_bytes() == before
    assert list(store.path.parent.iterdir()) == [store.path]


def foreign_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE single_gemm (note TEXT)")
    connection.execute("INSERT INTO single_gemm VALUES ('mine')")
    connection.commit()
    connection.close()


def newer_store(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    connection.execute("CREATE TABLE new_things (x)")
    connection.commit()
    connection.close()


def text_file(path: Path) -> None:
    path.write_text("SQLite format 4, or so I was told\n" * 20)


def short_file(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (foreign_sqlite, "is a SQLite database of another program"),
        (newer_store, "was written by a newer version"),
        (text_file, "is not a SQLite database"),
        (short_file, "is not a SQLite database"),
    ],
)
@pytest.mark.parametrize("mode", [{"create": True}, {"read_only": True}, {}])
def test_a_file_that_is_no_store_is_refused_and_untouched(
    tmp_path: Path, make: Callable[[Path], None], message: str, mode: dict[str, bool]
) -> None:
    """Defect: somebody's own database gains our tables, or a newer store is read as if it were understood."""
    path = tmp_path / "rows.db"
    make(path)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    with pytest.raises(ServingSimError, match=message) as refusal:
        Store.open(path, **mode)
    assert refusal.value.code == "E_STATE"
    assert refusal.value.hint
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [path]


def damaged(middle: bytes, tail: bytes) -> bytes:
    """The header of a store, with anything else in it and after it."""
    marks = SCHEMA_VERSION.to_bytes(4, "big") + bytes(4) + APPLICATION_ID.to_bytes(4, "big")
    return b"SQLite format 3\0" + middle + marks + tail


any_bytes = (
    st.binary(max_size=400)
    | st.binary(max_size=400).map(lambda tail: b"SQLite format 3\0" + tail)
    | st.builds(damaged, st.binary(min_size=44, max_size=44), st.binary(max_size=900))
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=any_bytes)
def test_any_bytes_are_a_store_or_a_refusal(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Defect: a traceback from a damaged file, or a damaged file that is written to."""
    path = tmp_path_factory.mktemp("bytes") / "rows.db"
    path.write_bytes(content)
    verdict = "store"
    try:
        with Store.open(path, create=True) as store:
            store.counts()
            store.upsert([gemm(1)])
    except ServingSimError as refusal:
        verdict = refusal.code
    assert verdict in ({"E_STATE", "E_PATH"} if content else {"store"})
    assert not content or path.read_bytes() == content


@pytest.mark.parametrize("name", ["", "sub/rows.db", "file/rows.db", "fifo", "\0", "/proc/rows.db"])
def test_a_path_that_cannot_hold_a_store_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    """Defect: the refusal comes after hours of measuring; or opening hangs on a pipe."""
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ServingSimError, match="cannot be used as a database") as refusal:
        Store.open(tmp_path / name, create=True).ensure_created()
    assert refusal.value.code == "E_PATH"


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """Defect: `--db "$(mktemp)"` is refused as foreign."""
    path = tmp_path / "rows.db"
    path.touch()
    with Store.open(path, create=True) as store:
        store.upsert([gemm(1)])
    with Store.open(path, read_only=True) as store:
        assert len(store.rows("single_gemm")) == 1


def test_a_kind_whose_fields_have_changed_is_refused(store: Store) -> None:
    """Defect: rows of two definitions in one table."""
    store.ensure_created()
    connection = sqlite3.connect(store.path)
    connection.execute("CREATE TABLE single_gemm (device TEXT, m INTEGER)")
    connection.commit()
    connection.close()
    with pytest.raises(ServingSimError, match="table single_gemm has other columns: device, m"):
        store.upsert([gemm(1)])


WRITER = """
import sys
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
origins = Origins("measured", "NVIDIA Test", sys.argv[2], "lib", "1")
sys.stdin.read()
with Store.open(sys.argv[1], create=True) as store:
    for m in range(1, 101):
        args = {"m": m, "n": 8, "k": 8, "dtype": "fp32"}
        store.upsert([MeasuredRow("single_gemm", args, Timing(1, 1, 1, 0, 1), origins)])
"""


def test_writers_at_once_create_one_store_and_lose_nothing(tmp_path: Path) -> None:
    """Defect: "database is locked", a half-made file, or rows of one writer gone."""
    path = tmp_path / "rows.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"writer {index}"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=CHECKOUT,
        )
        for index in range(3)
    ]  # fmt: skip
    for writer in writers:
        if writer.stdin is not None:
            writer.stdin.close()
            writer.stdin = None
    said = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0], said
    with Store.open(path, read_only=True) as store:
        assert [count.rows for count in store.counts()] == [100, 100, 100]


def test_a_store_may_be_opened_again_beside_an_open_one(store: Store) -> None:
    """Defect: looking at a file's header drops the locks of a connection in the same process."""
    store.upsert([gemm(1)])
    store.rows("single_gemm")
    for _ in range(3):
        with Store.open(store.path, read_only=True) as other:
            assert len(other.rows("single_gemm")) == 1
    store.upsert([gemm(2)])
    assert len(store.rows("single_gemm")) == 2
    code = (
        "import sys; from profiling.store import Store; "
        "print(len(Store.open(sys.argv[1]).rows('single_gemm')))"
    )
    lock_holder = subprocess.run(
        [sys.executable, "-c", code, store.path],
        capture_output=True, text=True, check=True, cwd=CHECKOUT,
    )  # fmt: skip
    assert lock_holder.stdout.strip() == "2"
