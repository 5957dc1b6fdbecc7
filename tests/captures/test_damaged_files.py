"""Files as they really arrive: cut off, half copied, with bytes that no standard allows."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from profiling.captures.loading import load
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.captures.conftest import Made, Writer


def written(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.fixture
def small(made: type[Made]) -> str:
    events = [made.kernel(f"kernel_{at}", 100 + 10 * at, 5) for at in range(50)]
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"not a capture at all", "is no capture"),
        (b"\x00" * 4096, "is no capture"),
        (b"\x28\xb5\x2f\xfd and more", "packed in a form"),
        (b"PK\x03\x04 and more", "packed in a form"),
        (b"\x1f\x8b\x08\x00broken", "gzip stream is"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b'{"traceEvents": [', "cut off after 0 events"),
        (b'{"traceEvents": []}', "no event"),
        (b'{"traceEvents": [{"ph": "X"}', "cut off after 1 event"),
        (b'{"a": 1}', "no traceEvents"),
        (b"{}", "no event"),
        (b'{"traceEvents": 5}', "no event"),
        (b'{"schemaVersion" 5}', "no value follows"),
        (b"[]", "without a kernel"),
        (b"PAR1 and nothing", "damaged parquet"),
        (b'{"traceEvents": [' + b'{"a":' * 100_000, "nested too deep"),
        (b'{"traceEvents": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
    ],
)
def test_what_is_no_readable_capture_is_refused_with_what_it_is(
    tmp_path: Path, data: bytes, said: str
) -> None:
    """Defect: a traceback of a parser, or an empty table, for a file that the profiler never finished."""
    with pytest.raises(ServingSimError) as refused:
        load(written(tmp_path / "file.json", data))

    assert said in refused.value.what
    assert refused.value.path


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_that_is_cut_off_is_refused(tmp_path: Path, small: str, part: float, *, packed: bool) -> None:
    """Defect: half of a step read as the whole of it."""
    whole = gzip.compress(small.encode()) if packed else small.encode()

    with pytest.raises(ServingSimError, match=r"cut off|no capture"):
        load(written(tmp_path / "t.json", whole[: int(len(whole) * part)]))


def test_a_flipped_byte_in_a_gzip_stream_is_found(tmp_path: Path, small: str) -> None:
    """Defect: kernels with wrong figures out of a damaged copy."""
    packed = bytearray(gzip.compress(small.encode()))
    packed[len(packed) // 2] ^= 0xFF

    with pytest.raises(ServingSimError):
        load(written(tmp_path / "t.json.gz", bytes(packed)))


def test_control_characters_in_a_name_are_read(tmp_path: Path, small: str) -> None:
    """Defect: profilers write raw control characters inside strings, and strict parsers refuse the file."""
    capture = load(written(tmp_path / "t.json", small.replace("kernel_7", "kernel\x01\n\x7f_7")))

    assert "kernel\x01\n\x7f_7" in {each.name for each in capture.totals}
    assert len(capture.launches) == 50


def test_bytes_that_are_no_utf8_and_marks_of_byte_order_are_read(tmp_path: Path, small: str) -> None:
    """Defect: one byte of a mangled name ended the reading."""
    data = small.encode().replace(b"kernel_7", b"kernel\xff_7")

    assert len(load(written(tmp_path / "a.json", data)).launches) == 50
    assert len(load(written(tmp_path / "b.json", b"\xef\xbb\xbf" + data)).launches) == 50
    assert len(load(written(tmp_path / "c.json", small.encode("utf-16"))).launches) == 50


def test_infinite_and_missing_numbers_do_not_cost_the_event(tmp_path: Path, small: str) -> None:
    """Defect: `"memory bandwidth (GB/s)": inf`, which profilers write, was no JSON."""
    data = small.replace('"stream": 7', '"stream": 7, "bandwidth": inf, "occupancy": -nan, "x": NaN')

    capture = load(written(tmp_path / "t.json", data))

    assert len(capture.launches) == 50
    assert not [each for each in capture.findings if each.kind == "damaged"]


def test_an_event_that_is_no_json_is_left_out_and_counted(tmp_path: Path, small: str) -> None:
    """Defect: one bad event cost the file, or went missing without a word."""
    data = small.replace('"name": "kernel_7"', '"name" "kernel_7"')

    capture = load(written(tmp_path / "t.json", data))

    assert len(capture.launches) == 49
    assert ("events that are no JSON", 1) in [(each.what, each.count) for each in capture.findings]


def test_a_quotation_mark_too_many_costs_one_event(tmp_path: Path, small: str) -> None:
    """Defect: everything behind it was taken for one string, and the file for cut off."""
    capture = load(written(tmp_path / "t.json", small.replace("kernel_7", 'kernel"_7')))

    assert len(capture.launches) == 49
    assert "damaged" in {each.kind for each in capture.findings}


def test_a_list_of_events_without_an_object_around_it_is_a_trace(tmp_path: Path, made: type[Made]) -> None:
    """Defect: the other form of the format, whose closing bracket may be missing, was refused."""
    text = json.dumps([made.kernel("a", 10, 5), made.kernel("b", 20, 5)])

    whole, open_ = (
        load(written(tmp_path / "a.json", text)),
        load(written(tmp_path / "b.json", text[:-1] + ",\n")),
    )

    assert len(whole.launches) == len(open_.launches) == 2
    assert "damaged" in {each.kind for each in open_.findings}


@pytest.mark.parametrize(
    "change",
    [
        {"ts": "soon"},
        {"ts": None},
        {"ts": 1e400},
        {"ts": "1e999999999"},
        {"dur": "-1e-999999999"},
        {"dur": "NaN"},
        {"dur": [1]},
        {"name": None},
        {"name": {"a": 1}},
        {"args": None},
        {"args": [1, 2]},
        {"args": {"device": "x", "stream": {}, "correlation": -(10**40), "grid": ["a"] * 3}},
        {"ts": 10**30, "dur": 10**30},
        {"pid": "Spans", "tid": "PyTorch"},
        {"ph": 7},
        {"cat": ["kernel"]},
    ],
)
def test_fields_of_another_kind_cost_their_event_at_most(
    trace: Writer, made: type[Made], change: dict[str, object]
) -> None:
    """Defect: a field of an unexpected type ended the reading with a traceback."""
    capture = load(trace([made.kernel("good", 10, 5), {**made.kernel("odd", 100, 5), **change}]))

    assert capture.kernels()[-1].name == "good" or capture.kernels()[0].name == "good"


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_of_a_trace_is_read_or_refused(tmp_path: Path, small: str, data: st.DataObject) -> None:
    """Defect: anything but a capture or one clear refusal."""
    raw = bytearray(small.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    path = written(tmp_path / "t.json", bytes(raw))

    with suppress(ServingSimError):
        assert load(path).total_ns > 0


def test_a_folder_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    """Defect: the folder of a profiler with one file a rank gave an error of the operating system."""
    written(tmp_path / "rank0.json", "{}")

    with pytest.raises(ServingSimError, match="is a folder") as folder:
        load(tmp_path)
    with pytest.raises(ServingSimError, match="no such file"):
        load(tmp_path / "absent.json")

    assert "rank0.json" in folder.value.known
