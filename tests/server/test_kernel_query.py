"""`servingsim kernel-query` through a real process: the documents' example, purity, refusals, start-up."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from servingsim.timing.registry import kernels

GRID = {"op": "grid", "kind": "single_gemm", "config": {"n": 4096, "k": 4096, "dtype": "bf16"}}
COMMAND = [sys.executable, "-m", "server.cli", "kernel-query"]
ROOT = Path(__file__).resolve().parents[2]


def _run(*args: str, stdin: bytes | str = b"", workspace: str = "") -> subprocess.CompletedProcess[bytes]:
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    return subprocess.run(
        [*COMMAND, *args],
        input=data,
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=60,
        # Whatever database lies about, a call that names none finds none.
        env=os.environ | {"SERVINGSIM_DB": "there is no such database", "SERVINGSIM_WORKSPACE": workspace},
    )


def _answer(done: subprocess.CompletedProcess[bytes], code: int = 0) -> Any:  # noqa: ANN401 - JSON
    assert done.returncode == code, done.stderr.decode()
    assert done.stderr == b""
    return json.loads(done.stdout)


def test_the_documents_grid_smoke() -> None:
    """The pipe as the documents write it, without any device: a change of its form breaks every agent."""
    query = '{"op":"grid","kind":"single_gemm","config":{"n":4096,"k":4096,"dtype":"bf16","max_m":64}}'
    line = f"printf '%s' '{query}' | {shlex.join(COMMAND)}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=False, cwd=ROOT, timeout=60)  # noqa: S607 - any bash will do
    assert _answer(done) == {
        "op": "grid",
        "kind": "single_gemm",
        "profile_table": "single_gemm",
        "config": {
            "gpu_name": "any device",
            "backends": [],
            "n": 4096,
            "k": 4096,
            "dtype": "bf16",
            "max_m": 64,
        },
        "input_fields": ["m"],
        "grid_axes": {"m": [1, 4, 8, 16, 32, 64]},
        "feasible_count": 6,
        "feasible_limit": 500,
        "args_fields": ["m", "n", "k", "dtype"],
        "cache": kernels()["single_gemm"].cache,
        "dtype_tags": {"compute": "dtype"},
        "example": {"payload": {"m": 16, "n": 4096, "k": 4096, "dtype": "bf16"}, "input": {"m": 16}},
    }


def test_a_re_axed_grid_shows_the_input_that_a_point_stands_for() -> None:
    """Query fields are not cache axes: an agent that mixes them up asks for a batch total as a length."""
    config = {"num_heads": 32, "num_kv_heads": 8, "head_dim": 128, "dtype": "bf16", "kv_dtype": "fp8"}
    query = {
        "op": "grid",
        "kind": "attention_decode",
        "config": config | {"max_batch_size": 4, "max_kv_len": 64},
    }
    answer = _answer(_run(json.dumps(query)))
    assert answer["input_fields"] == ["batch_size", "total_kv_len"]
    assert answer["grid_axes"] == {"batch_size": [1, 2, 4], "kv_len": [1, 16, 64]}
    assert answer["feasible_count"] == 9
    payload, call = answer["example"]["payload"], answer["example"]["input"]
    assert call == {
        "batch_size": payload["batch_size"],
        "total_kv_len": payload["batch_size"] * payload["kv_len"],
    }


def test_list_describes_every_kind() -> None:
    answer = _answer(_run('{"op":"list"}'))
    assert [kind["kind"] for kind in answer["kinds"]] == sorted(kernels())
    for kind in answer["kinds"]:
        assert kind["args_fields"]
        assert set(kind["axes"]) <= set(kind["args_fields"])
        assert kind["config"]["properties"]["gpu_name"]["description"]
        assert kind["input"]["additionalProperties"] is False
    one = _answer(_run('{"op":"list","kind":"p2p"}'))
    assert one["kinds"] == [kind for kind in answer["kinds"] if kind["kind"] == "p2p"]


def test_a_kernel_file_in_the_workspace_is_a_kind_by_existing(tmp_path: Path) -> None:
    """Wiring a kernel is one new file; one that cannot be read is refused by its name, not by a traceback."""
    folder = tmp_path / "servingsim" / "timing" / "kernels"
    folder.mkdir(parents=True)
    shipped = (ROOT / "servingsim" / "timing" / "kernels" / "p2p.py").read_text()
    (folder / "ring_send.py").write_text(
        shipped.replace('kind="p2p"', 'kind="ring_send", profile_kind="p2p"')
    )
    query = '{"op":"grid","kind":"ring_send","config":{"dtype":"bf16","max_message_bytes":4096}}'
    answer = _answer(_run(query, workspace=str(tmp_path)))
    assert (answer["kind"], answer["profile_table"]) == ("ring_send", "p2p")
    assert answer["grid_axes"] == {"message_bytes": [1024, 2048, 4096]}
    (folder / "half.py").write_text("KERNEL = ")
    error = _answer(_run(query, workspace=str(tmp_path)), code=2)["error"]
    assert error["path"].endswith("half.py")


@pytest.mark.parametrize("door", ["argument", "stdin", "file"])
def test_every_door_gives_the_same_answer(door: str, tmp_path: Path) -> None:
    text = json.dumps(GRID)
    path = tmp_path / "query.json"
    path.write_text(text)
    calls = {"argument": ([text], ""), "stdin": ([], text), "file": (["--file", str(path)], "")}
    args, stdin = calls[door]
    assert _answer(_run(*args, stdin=stdin))["feasible_count"] == 39


def test_lines_answer_each_line_and_stop_at_none() -> None:
    """An agent that sends forty questions must get forty answers, in order, whatever one of them holds."""
    lines = [
        json.dumps(GRID),
        "{",
        "",
        '{"op":"list","kind":"p2p"}',
        '{"op":"grid","kind":"nope","config":{}}',
    ]
    done = _run("--lines", stdin="\n".join(lines))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [next(iter(answer)) for answer in answers] == ["op", "error", "op", "error"]
    assert [answer["error"]["where"] for answer in answers if "error" in answer] == ["line 2", "line 5"]
    assert (done.returncode, done.stderr) == (2, b"")


def _gemm(fields: str) -> str:
    return f'{{"op":"grid","kind":"single_gemm","config":{{{fields}}}}}'


P2P = '"kind":"p2p","config":{"gpu_name":"g","dtype":"bf16"}'
BAD_TEXTS: list[tuple[bytes | str, str, str]] = [
    ("", "not JSON", "E_INPUT"),
    ("{", "not JSON: Expecting property name", "E_INPUT"),
    (b"\xff\xfe{", "not UTF-8", "E_INPUT"),
    ("[" * 100_000, "nested too deep", "E_INPUT"),
    (" " * (2**20 + 1), "too large", "E_LIMIT"),
]
BAD_QUERIES: list[tuple[str, str, str]] = [
    ("[1,2]", "a query is a JSON object, given [1, 2]", "E_INPUT"),
    ("{}", "the query has no op", "E_INPUT"),
    ('{"op":"gird"}', 'op is "gird"', "E_INPUT"),
    ('{"op":["grid"]}', 'op is ["grid"]', "E_INPUT"),
    ('{"op":"list","op":"grid"}', 'the name "op" is given twice', "E_INPUT"),
    ('{"op":"grid","kind":"single_gem","config":{}}', 'unknown kernel kind "single_gem"', "E_NOT_FOUND"),
    ('{"op":"grid","kind":"../../etc/passwd","config":{}}', "unknown kernel kind", "E_NOT_FOUND"),
    ('{"op":"grid","kind":"single_gemm"}', "config: missing", "E_INPUT"),
    ('{"op":"grid","kind":"single_gemm","config":{},"m":1}', "m: no such field", "E_INPUT"),
    (_gemm('"n":4096,"dtype":"bf16"'), "k: missing", "E_INPUT"),
    (_gemm('"n":4096,"k":1,"dtyp":"bf16"'), "did you mean 'dtype'?", "E_INPUT"),
    (_gemm('"n":4096,"k":1,"dtype":"fp7"'), 'dtype: "fp7"', "E_INPUT"),
    (_gemm('"n":-1,"k":1,"dtype":"bf16"'), "n: -1", "E_INPUT"),
    (_gemm('"n":1e999,"k":1,"dtype":"bf16"'), "n: Infinity", "E_INPUT"),
    (_gemm('"n":NaN,"k":1,"dtype":"bf16"'), "NaN is not JSON", "E_INPUT"),
    (_gemm('"n":99999999999999999999,"k":1,"dtype":"bf16"'), "n: 9999", "E_INPUT"),
    ('{"op":"list","kind":' + "9" * 5000 + "}", "not usable as JSON", "E_INPUT"),
    (f'{{"op":"eval",{P2P},"inputs":[]}}', "inputs: []", "E_INPUT"),
    (f'{{"op":"eval",{P2P},"inputs":[{{"m":1}}]}}', "m: no such field", "E_INPUT"),
    (f'{{"op":"eval",{P2P},"inputs":[{{"message_bytes":8}}]}}', "no such database", "E_NOT_FOUND"),
]


@pytest.mark.parametrize(("text", "message", "code"), BAD_TEXTS)
def test_text_that_is_no_query_is_refused_with_facts(text: bytes | str, message: str, code: str) -> None:
    """Exit 2, one JSON object on stdout that a program can read, nothing on stderr, never a traceback."""
    _check(_answer(_run(stdin=text), code=2)["error"], message, code)


def test_bad_queries_are_refused_with_facts() -> None:
    """Each with its value and what would be accepted: the next call of an agent depends on nothing else."""
    done = _run("--lines", stdin="\n".join(text for text, _, _ in BAD_QUERIES))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr, len(answers)) == (2, b"", len(BAD_QUERIES))
    for answer, (text, message, code) in zip(answers, BAD_QUERIES, strict=True):
        assert answer["error"].pop("where"), text
        _check(answer["error"], message, code)


def _check(error: dict[str, str], message: str, code: str) -> None:
    assert set(error) == {"code", "message", "known", "hint", "path"}
    assert (error["code"], message in error["message"]) == (code, True), error
    assert error["known"] or error["hint"] or error["path"], "a refusal names a next step"


@pytest.mark.parametrize(
    ("args", "code"),
    [(["{}", "--file", "pyproject.toml"], 2), (["--file", "/nonexistent"], 2), (["--nope"], 2)],
)
def test_bad_calls_exit_2(args: list[str], code: int) -> None:
    assert _run(*args).returncode == code


def test_an_unknown_command_names_the_nearest() -> None:
    call = [sys.executable, "-m", "server.cli", "kernel-qery"]
    done = subprocess.run(call, capture_output=True, check=False, cwd=ROOT, timeout=60)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"did you mean 'kernel-query'?" in done.stderr


def test_a_closed_pipe_ends_quietly() -> None:
    """`servingsim kernel-query ... | head -1` must not end in a traceback."""
    queries = b'{"op":"list"}\n' * 50
    with subprocess.Popen(
        [*COMMAND, "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(queries)
        process.stdin.close()
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) != 0


def _modules_after(*argv: str) -> set[str]:
    """Top-level modules that a call has imported."""
    program = (
        "import sys\nfrom server.cli import main\n"
        f"try: main({list(argv)!r})\nexcept SystemExit: sys.stdout.flush()\n"
        "names = sorted({name.partition('.')[0] for name in sys.modules})\n"
        "print('\\n' + ' '.join(names))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, cwd=ROOT, timeout=60
    )
    return set(done.stdout.decode().splitlines()[-1].split())


def test_help_imports_no_command() -> None:
    """Help that waits for torch is help that nobody asks for twice."""
    assert not _modules_after("--help") & {"numpy", "pydantic", "numba", "torch", "sqlite3", "rich"}


def test_a_grid_needs_neither_rows_nor_compilers() -> None:
    loaded = _modules_after("kernel-query", json.dumps(GRID))
    assert not loaded & {"numba", "torch", "sqlite3", "sqlite_utils", "rich", "pyarrow"}


def test_version() -> None:
    call = [sys.executable, "-m", "server.cli", "--version"]
    done = subprocess.run(call, capture_output=True, check=True, cwd=ROOT, timeout=60)
    assert done.stdout.startswith(b"servingsim, version 0.")
