"""The command line: pure JSON, exit codes, and refusals that change nothing."""

from __future__ import annotations

import json
import sqlite3
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from profiling.device import local_devices
from profiling.registry import kinds

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Profile = Callable[..., Any]

SPEC = '{"m": 16, "n": 16, "k": 16, "dtype": "fp32"}'
FAST = ("--budget", "0.005", "--min-samples", "3")


def decoded(answer: Any) -> Any:  # noqa: ANN401 - what `profile` answers, and JSON
    """The one JSON document on stdout."""
    return json.loads(answer.out)


def test_list_shows_every_kind_and_backend_with_what_a_hand_off_needs(profile: Profile) -> None:
    """Defect: R.1 cannot be checked: a pair is missing, or its fields, dtypes and reasons are."""
    answer = profile("list", "--json")
    assert (answer.code, answer.err) == (0, "")
    entries = {(entry["kind"], entry["backend"]): entry for entry in decoded(answer)}
    ours = entries["single_gemm", "numpy"]
    assert ours == {
        "kind": "single_gemm", "backend": "numpy", "args": ["m", "n", "k", "dtype"], "family": "compute",
        "dtype_fields": {"compute": "dtype"}, "devices": ["cpu"], "compute_dtypes": ["fp32"], "kv_dtypes": [],
        "requires": ["numpy"], "runnable": True, "reason": "", "rows": 0,
        "smoke": {"m": 16, "n": 256, "k": 128, "dtype": "fp32"},
    }  # fmt: skip
    assert {kind for kind, _ in entries} == set(kinds())
    assert all(entry["runnable"] or entry["reason"] for entry in entries.values())


def test_a_kind_that_nothing_runs_is_listed_with_the_reason(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: a kind exists, has rows to import, and is not in the list."""
    folder = tmp_path / "profiling" / "kernels"
    folder.mkdir(parents=True)
    text = (files("profiling.kernels") / "p2p.py").read_text().replace('name="p2p"', 'name="my_copy"')
    (folder / "my_copy.py").write_text(text)
    monkeypatch.setenv("SERVINGSIM_WORKSPACE", str(tmp_path))
    (entry,) = decoded(profile("list", "--kind", "my_copy", "--json"))
    assert (entry["backend"], entry["runnable"]) == (None, False)
    assert entry["reason"] == "no backend runs it: rows can be imported"


def test_list_of_one_kind_counts_the_rows_of_a_store(profile: Profile, tmp_path: Path) -> None:
    """Defect: imported backends are nowhere to be seen."""
    db = tmp_path / "rows.db"
    assert profile("import", "fixed_rows", "--count", "3", "--db", db).code == 0
    entries = decoded(profile("list", "--kind", "rms_norm", "--db", db, "--json"))
    assert {entry["backend"]: entry["rows"] for entry in entries}["lib-1:call"] == 3
    assert "lib-1:call" in profile("list", "--db", db).out


RUN = ("run", "single_gemm", "--backend", "numpy")
BAD = [
    (("run", "single_gem", "--backend", "numpy", "--spec", SPEC), "unknown kind 'single_gem'"),
    (("run", "single_gemm", "--backend", "numpi", "--spec", SPEC), "unknown backend of single_gemm 'numpi'"),
    (("run", "single_gemm", "--backend", "numpy", "--spec", "{"), "--spec is not JSON"),
    ((*RUN, "--spec", SPEC.replace("16", "-16", 1)), "m: -16"),
    ((*RUN, "--spec", SPEC.replace("m", "q", 1)), "unknown field"),
    ((*RUN, "--spec", SPEC.replace("fp32", "fp33")), 'dtype: "fp33"'),
    ((*RUN, "--spec", SPEC.replace("fp32", "bf16")), "is not run by backend"),
    (
        (*RUN, "--spec", SPEC.replace("16", "16000000")),
        "GiB are more than the",
    ),
    ((*RUN, "--spec", SPEC.replace("16", "31337", 1)), "is not supported"),
    ((*RUN, "--spec", SPEC, "--threads", "0"), "0 threads"),
    ((*RUN, "--spec", SPEC, "--budget", "nan"), "budget_s nan"),
    ((*RUN, "--spec", SPEC, "--budget", "x"), "'x' is not a valid float"),
    ((*RUN, "--spec", SPEC, "--device-type", "cuda"), "cannot run here"),
    (RUN, "Missing option '--spec'"),
    (("run", "single_gemm", "--spec", SPEC), "Missing option '--backend'"),
    ((*RUN, "--spec", SPEC, "--bugdet", "1"), "No such option '--bugdet'"),
    (("query", "single_gem"), "unknown kind"),
    (("query", "single_gemm"), "no such database"),
    (("query", "single_gemm", "--spec", "[]"), "is not an object"),
    (("query", "single_gemm", "--limit", "0"), "0 is not in the range"),
    (("count-missing", "single_gemm", "--spec", "[]"), "--spec holds no spec"),
    (("count-missing", "single_gemm", "--backend", "numpi", "--spec", SPEC), "unknown backend"),
    (("list", "--kind", "x"), "unknown kind 'x'"),
    (("devices",), "no such database"),
    (("import", "fixed_row"), "No such command 'fixed_row'"),
    (("import", "fixed_rows", "--count", "0"), "--count 0"),
    (("import", "fixed_rows", "--count", "many"), "'many' is not a valid integer"),
    (("querry",), "no such command 'querry'; did you mean 'query'"),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "message"), BAD, ids=[" ".join(argv)[:60] for argv, _ in BAD])
def test_bad_input_is_refused_with_facts_and_writes_nothing(
    profile: Profile, tmp_path: Path, argv: tuple[str, ...], message: str
) -> None:
    """Defect: a traceback, exit code 0 or 1, text on stdout, or an empty database left behind."""
    takes_db = argv[0] != "querry" and argv != ("list", "--kind", "x")
    answer = profile(*argv, *(("--db", tmp_path / "rows.db") if takes_db else ()), "--json")
    assert answer.code == 2
    assert message in answer.err
    error = decoded(answer)["error"]
    assert message in error["message"]
    assert error["hint"] or error["known"]
    assert list(tmp_path.iterdir()) == []
    assert profile(*argv, *(("--db", tmp_path / "rows.db") if takes_db else ())).out == ""


@pytest.mark.parametrize(
    "command",
    [
        (*RUN, "--spec", SPEC),
        ("query", "single_gemm"),
        ("count-missing", "single_gemm", "--spec", SPEC),
        ("list",),
        ("devices",),
        ("devices", "--measure"),
        ("import", "fixed_rows"),
    ],
)
def test_a_foreign_database_is_refused_by_every_command(
    profile: Profile, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Defect: one of the doors writes into somebody else's file."""
    path = tmp_path / "mine.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    answer = profile(*command, "--db", path, "--json")
    assert answer.code == 2
    assert "database of another program" in decoded(answer)["error"]["message"]
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["no/such/folder/rows.db", ".", "/proc/rows.db"])
def test_a_database_that_cannot_be_written_is_refused_before_measuring(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Defect: measured for an hour, then the row could not be kept."""
    monkeypatch.chdir(tmp_path)
    answer = profile(
        "run", "single_gemm", "--backend", "numpy", "--db", place, "--spec", SPEC, *FAST, "--json"
    )
    assert answer.code == 2
    assert decoded(answer)["error"]["code"] == "E_PATH"
    assert "[1/1]" not in answer.err


def test_run_query_and_count_agree(profile: Profile, calibrated_db: Path) -> None:
    """Defect: three views of one store that do not show the same."""
    sweep = '{"m": [1, 2, 101], "n": 16, "k": 16, "dtype": "fp32"}'
    ran = profile(
        "run", "single_gemm", "--backend", "faulty", "--db", calibrated_db, "--spec", sweep, *FAST, "--json"
    )
    assert ran.code == 1
    report = decoded(ran)
    assert [shape["args"]["m"] for shape in report["failed"]] == [101]
    asked = decoded(profile("query", "single_gemm", "--db", calibrated_db, "--backend", "faulty", "--json"))
    assert asked == {"kind": "single_gemm", "rows": report["rows"], "more": False}
    one = decoded(profile("query", "single_gemm", "--db", calibrated_db, "--spec", '{"m": 2}', "--json"))
    assert [row["m"] for row in one["rows"]] == [2]
    counted = decoded(
        profile(
            "count-missing",
            "single_gemm",
            "--backend",
            "faulty",
            "--db",
            calibrated_db,
            "--spec",
            sweep,
            "--json",
        )
    )
    assert counted == {
        "kind": "single_gemm",
        "device": local_devices()[-1].name,
        "requested": 3,
        "missing": {"faulty": 1},
        "first_missing": {"faulty": [{"m": 101, "n": 16, "k": 16, "dtype": "fp32"}]},
    }
    for people in (
        profile("query", "single_gemm", "--db", calibrated_db),
        profile(
            "run",
            "single_gemm",
            "--backend",
            "faulty",
            "--db",
            calibrated_db,
            "--spec",
            sweep.replace(", 101", ""),
        ),
    ):
        assert people.code == 0
        assert "median_ms" in people.out
    assert "2 skipped" in people.err
    limited = decoded(profile("query", "single_gemm", "--db", calibrated_db, "--limit", "1", "--json"))
    assert (len(limited["rows"]), limited["more"]) == (1, True)
    wrong = profile("query", "single_gemm", "--db", calibrated_db, "--backend", "x", "--json")
    assert decoded(wrong)["error"]["known"] == "faulty, numpy, torch, vllm_cpu"


def test_missing_rows_are_counted_before_there_is_a_store(profile: Profile, tmp_path: Path) -> None:
    """Defect: asking how long a run would be needs the run."""
    answer = decoded(
        profile("count-missing", "single_gemm", "--spec", SPEC, "--db", tmp_path / "rows.db", "--json")
    )
    assert answer["missing"]["numpy"] == 1
    assert list(tmp_path.iterdir()) == []


def test_an_import_is_dispatched_and_a_second_one_changes_nothing(profile: Profile, tmp_path: Path) -> None:
    """Defect: importers are not found, or do not get their options."""
    command = ("import", "fixed_rows", "--count", "3", "--db", tmp_path / "rows.db")
    assert decoded(profile(*command, "--json")) == {"inserted": 3, "unchanged": 0}
    assert decoded(profile(*command, "--json")) == {"inserted": 0, "unchanged": 3}
    assert profile(*command).out == "inserted: 0\nunchanged: 3\n"
    assert "fixed_rows" in profile("import", "--help").out
    assert "--count" in profile("import", "fixed_rows", "--help").out


def test_devices_show_what_is_here_and_what_is_stored(profile: Profile, calibrated_db: Path) -> None:
    """Defect: peaks without their origin, or rows of a device that is nowhere listed."""
    answer = decoded(profile("devices", "--db", calibrated_db, "--json"))
    cpu = local_devices()[-1]
    assert answer["here"][-1]["name"] == answer["stored"][0]["name"] == cpu.name
    assert answer["here"][-1]["threads"] == cpu.threads
    assert answer["stored"][0]["limits_origin"] == "measured"
    assert answer["stored"][0]["rows"] == 0
    assert cpu.name in profile("devices", "--db", calibrated_db).out


def test_devices_without_a_store_are_those_at_hand(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: a first look at the machine needs a database."""
    monkeypatch.chdir(tmp_path)
    answer = decoded(profile("devices", "--json"))
    assert answer["stored"] == []
    assert list(tmp_path.iterdir()) == []


def test_help_lists_every_command(profile: Profile) -> None:
    """Defect: a command that nobody finds."""
    answer = profile("--help")
    assert answer.code == 0
    for name in ("count-missing", "devices", "import", "list", "query", "run"):
        assert name in answer.out


def test_a_reader_that_goes_away_is_no_error(start_profile: Callable[..., subprocess.Popen[str]]) -> None:
    """Defect: `| head` ends in a traceback."""
    process = start_profile("list", "--json")
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate()
    assert "Traceback" not in err
    assert "Exception" not in err
