"""Bad files of requests: the value, its line and what would be right; never another kind of error."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servingsim.errors import ServingSimError
from servingsim.sim.workload.format import all_formats, read_workload
from servingsim.sim.workload.rows import Rows
from tests.sim_workload.written import TEXTS, written

if TYPE_CHECKING:
    from pathlib import Path

CSV = "input_len,output_len,arrival_time\n"
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
SHAREGPT = "input_toks,output_toks,arrival_time_ns\n"
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**63, 0.5])
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def mooncake(**changed: object) -> str:
    return (
        json.dumps({"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": []} | changed) + "\n"
    )


def bench(**changed: object) -> str:
    return json.dumps({"request_rate": 1.0, "input_lens": [1, 2], "output_lens": [1, 1]} | changed)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("  \n\n", "the file is empty"),
        ("hello\n", "which fits no workload format"),
        ("\x00\x01\x02", "which fits no workload format"),
        (CSV, "the file holds no request"),
        (CSV + "1,1,0\n5,5,-1\n", 'line 3: arrival "-1"'),
        (CSV + "1,1,nan\n", 'line 2: arrival "nan"'),
        (CSV + "1,1,1e13\n", 'line 2: arrival "1e13"'),
        (CSV + "0,1,0\n", 'line 2: prompt tokens "0"'),
        (CSV + "1,0,0\n", 'line 2: output tokens "0"'),
        (CSV + "-3,1,0\n", 'line 2: prompt tokens "-3"'),
        (CSV + "1.5,1,0\n", 'line 2: prompt tokens "1.5"'),
        (CSV + "1_0,1,0\n", 'line 2: prompt tokens "1_0"'),
        (CSV + "99999999,1,0\n", "a whole number from 1 to 16777216"),
        (CSV + "1,1\n", "line 2: 2 values"),
        (CSV + "\n\n1,,3\n", 'line 4: output tokens ""'),
        ("input_len,output_len,arrival_time,priority\n1,1,1,16\n", 'line 2: priority "16"'),
        ("input_len,output_len,arrival_time,input_len\n1,1,1,1\n", "2 columns are called 'input_len'"),
        (CSV + '"' + "x" * 200_000, "line 2 has more than 65536 characters"),
        (CSV + '"' + "1,1,1\n" * 30_000, "is no CSV: field larger than"),
        (AZURE + "2023-13-16 18:17:03.97,1,1\n", "line 2: TIMESTAMP"),
        (AZURE + "yesterday,1,1\n", "as 2023-11-16 18:17:03.9799600"),
        (AZURE + "2093-11-16 18:17:03,1,1\n1995-11-16 18:17:03,1,1\n", "request 0: arrival"),
        (SHAREGPT + "1,1,x\n", 'line 2: arrival_time_ns "x"'),
        (SHAREGPT + "1,1,-5\n", "line 2: arrival -5e-06"),
        (mooncake() + "{\n", 'line 2: "{\\n" is no JSON'),
        (mooncake() + "[]\n", "line 2: [] is no object"),
        (mooncake() + "{}\n", "no timestamp and no input_length"),
        (mooncake(hash_ids=[1, 2, 3]), "3 hash ids for 600 prompt tokens"),
        (mooncake(hash_ids=[-1]), "line 1: hash id -1"),
        (mooncake(hash_ids=[True]), "line 1: hash id true"),
        (mooncake(hash_ids=7), "line 1: hash_ids 7"),
        (mooncake(timestamp=None), "line 1: arrival null"),
        (mooncake(timestamp=float("nan")), "line 1: arrival NaN"),
        (mooncake(input_length=True), "line 1: input_length true"),
        (mooncake(output_length=10**400), "line 1: output tokens 1000"),
        ('{"input_toks": 1, "output_toks": 1}\n', "line 1: no arrival"),
        ('{"input_toks": 1, "output_toks": 1, "arrival_time": "x"}\n', 'line 1: arrival_time "x"'),
        (
            '{"input_toks": 1, "output_toks": 1, "arrival_time": 1}\n{"input_toks": 1, "output_toks": 1}\n',
            "line 2: no arrival_time",
        ),
        (bench(output_lens=[1]), "not two lists of one length"),
        (bench(output_lens=[1, -1]), "request 1: output tokens -1"),
        (bench(output_lens=[0, 0]), "the file holds no request"),
        (bench(start_times=[1.0]), "1 numbers in start_times"),
        (bench(start_times=[1.0, None]), "known: 2 requests"),
        (bench(request_rate=[]), "no start_times, and request_rate []"),
        (bench(request_rate=0), "request_rate 0"),
        (bench(request_rate=5e-324), "request 1: arrival Infinity"),
        (bench()[:-1], "this is no JSON"),
    ],
)
def test_a_bad_file_is_refused_with_its_value_and_place(text: str, said: str, tmp_path: Path) -> None:
    """Defect: bad input is guessed at, or named without its line."""
    path = written(tmp_path, text)
    with pytest.raises(ServingSimError) as refused:
        read_workload(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    """Defect: a UnicodeDecodeError with a position in a buffer."""
    path = tmp_path / "trace"
    path.write_bytes(CSV.encode() + b"1,1,1\n1,\xff,1\n")
    with pytest.raises(ServingSimError, match="known: text in UTF-8"):
        read_workload(path)


@pytest.mark.parametrize("name", ["absent", "folder", "pipe", "a\0b", "x" * 5000])
def test_what_is_no_file_is_refused_and_nothing_waits(name: str, tmp_path: Path) -> None:
    """Defect: a pipe hangs for ever; a folder or an impossible name ends in a traceback."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ServingSimError) as refused:
        read_workload(tmp_path / name)
    assert refused.value.code == "E_PATH"


def test_an_unknown_format_is_refused_with_the_nearest(tmp_path: Path) -> None:
    """Defect: a typo falls back to detection."""
    with pytest.raises(ServingSimError, match="did you mean 'mooncake'"):
        read_workload(written(tmp_path, TEXTS["mooncake"]), name="moncake")


@pytest.mark.parametrize("name", TEXTS)
def test_a_format_that_is_named_reads_no_other(name: str, tmp_path: Path) -> None:
    """Defect: a wrong format reads something out of any file."""
    for other, text in TEXTS.items():
        if other != name:
            with pytest.raises(ServingSimError):
                read_workload(written(tmp_path, text), name=name)


def test_more_requests_than_a_machine_should_hold_are_refused_not_cut(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Defect: a trace of 10 GB is cut in silence at the limit."""
    monkeypatch.setattr("servingsim.sim.workload.rows.MAX_REQUESTS", 2)
    with pytest.raises(ServingSimError, match="more than 1 requests") as refused:
        read_workload(written(tmp_path, CSV + "1,1,1\n" * 3))
    assert refused.value.code == "E_LIMIT"
    assert len(read_workload(written(tmp_path, CSV + "1,1,1\n" * 3), limit=3)) == 3


def test_a_request_takes_under_a_hundred_bytes_while_it_is_read() -> None:
    """Defect: lists of Python numbers make a long trace ten times as large as its arrays."""
    rows = Rows("x")
    for place in range(1000):
        rows.add("line", place, 1, 1, keys=[place])
    columns = (rows.arrival_ms, rows.prompt, rows.output, rows.level, rows.keys, rows.key_count)
    assert sum(column.buffer_info()[1] * column.itemsize for column in columns) == 48_000


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(TEXTS)),
    cut=st.floats(0, 1),
    put=st.text(max_size=6)
    | st.sampled_from(['"', "\x00", ",", "\n", "-", "9" * 400, "1e999", "nan", "[[", "}"]),
    dropped=st.integers(0, 12),
)
def test_a_mutated_file_is_read_or_refused(
    name: str, cut: float, put: str, dropped: int, tmp_path: Path
) -> None:
    """Defect: some mutation of a good file escapes as another kind of error, or becomes an impossible workload."""
    text = TEXTS[name]
    place = int(cut * len(text))
    path = tmp_path / "trace"
    path.write_text(
        text[:place] + put + text[place + dropped :], encoding="utf-8", errors="surrogatepass", newline=""
    )
    readable(path, name)
    readable(path, "")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["mooncake", "llmservingsim", "bench_serve"]),
    field=st.integers(0, 5),
    value=JSON_VALUES,
)
def test_any_json_in_any_field_is_read_or_refused(
    name: str, field: int, value: object, tmp_path: Path
) -> None:
    """Defect: a list where a number belongs is a TypeError, a huge number an OverflowError."""
    first, _, rest = TEXTS[name].partition("\n")
    row = json.loads(first)
    row[list(row)[field % len(row)]] = value
    path = tmp_path / "trace"
    path.write_text(json.dumps(row) + "\n" + rest, encoding="utf-8")
    readable(path, name)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300), name=st.sampled_from(["", *sorted(all_formats())]))
def test_any_bytes_are_read_or_refused(content: bytes, name: str, tmp_path: Path) -> None:
    """Defect: binary files end in a traceback."""
    path = tmp_path / "trace"
    path.write_bytes(content)
    readable(path, name)


def readable(path: Path, name: str) -> None:
    """Read the file: what comes out is a workload that the loop can take."""
    try:
        workload = read_workload(path, name=name)
    except ServingSimError:
        return
    assert len(workload) > 0
    assert (workload.prompt > 0).all()
    assert (workload.output > 0).all()
    assert workload.arrival_ms[0] == 0.0
    assert (workload.arrival_ms[1:] >= workload.arrival_ms[:-1]).all()
    assert int((workload.key_start + workload.key_count).max()) <= max(len(workload.keys), 1)
