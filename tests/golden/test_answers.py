"""Every JSON answer fits its schema: the stored examples that documents point to, and what commands say now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from server.reference.schemas import ANSWERS

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[..., Any]

ROOT = Path(__file__).resolve().parents[2]
STORED = Path(__file__).parent / "answers"
SPEC = '{"num_tokens": [4, 8], "hidden_size": 16, "dtype": "fp32"}'
EVAL = {
    "op": "eval",
    "kind": "single_gemm",
    "config": {"gpu_name": "NVIDIA H100 80GB HBM3", "n": 4096, "k": 4096, "dtype": "bf16"},
    "inputs": [{"m": 100}, {"m": 512}],
    "db": "rows.db",
}
PREDICT = ["servingsim", "predict", "llama-3.1-8b", "--device", "NVIDIA H100 80GB HBM3", "--db", "rows.db"]
RUN = ["profiling", "run", "rms_norm", "--backend", "numpy", "--spec", SPEC, "--db", "rows.db", "--json"]
SIMULATE = [
    *(
        "servingsim",
        "simulate",
        "llama-3.1-8b",
        "--device",
        "NVIDIA H100 80GB HBM3",
        "--db",
        "rows.db",
        "--json",
    ),
    *("--rate", "4", "--input-tokens", "100", "--output-tokens", "8", "--requests", "20"),
    *("--max-num-tokens", "256", "--max-num-seqs", "16", "--max-model-len", "512", "--slo-ttft-ms", "500"),
]
ALIGN = ["servingsim", "align", "llama-3.1-8b", "--device", "NVIDIA H100 80GB HBM3", "--db", "rows.db"]
COMMANDS: dict[str, list[str]] = {
    "align": [*ALIGN, "--log", "iterations.jsonl", "--json"],
    "align_requests": [
        *(*ALIGN, "--log", "requests.jsonl", "--json", "--fit-host"),
        *("--max-num-tokens", "256", "--max-num-seqs", "16", "--max-model-len", "512"),
    ],
    "error": ["profiling", "list", "--kind", "singel_gemm", "--json"],
    "fidelity": [
        *("servingsim", "fidelity", "--csv", "measured.csv", "--kind", "single_gemm", "--device"),
        *("NVIDIA H100 80GB HBM3", "--backend", "mine", "--json"),
    ],
    "kernel_query_eval": ["servingsim", "kernel-query", json.dumps(EVAL)],
    "kernel_query_grid": [
        "servingsim",
        "kernel-query",
        '{"op":"grid","kind":"single_gemm","config":{"n":4096,"k":4096,"dtype":"bf16","max_m":64}}',
    ],
    "kernel_query_list": ["servingsim", "kernel-query", '{"op":"list","kind":"p2p"}'],
    "predict": [*PREDICT, "--tp", "2", "--prefill", "100:0", "--decode", "255x2", "--json"],
    "profiling_count_missing": [
        *("profiling", "count-missing", "rms_norm", "--backend", "numpy", "--spec", SPEC),
        *("--db", "rows.db", "--json"),
    ],
    "profiling_devices": ["profiling", "devices", "--db", "rows.db", "--json"],
    "profiling_import": [
        *("profiling", "import", "aiconfigurator", "--data-dir", "tables", "--db", "new.db", "--json"),
    ],
    "profiling_list": ["profiling", "list", "--kind", "rms_norm", "--db", "rows.db", "--json"],
    "profiling_query": ["profiling", "query", "single_gemm", "--db", "rows.db", "--json"],
    "profiling_run": RUN,
    "simulate": SIMULATE,
}
"""A command for each answer; the figures of `demo` and `bench` are kept beside the README."""
NEEDS = {"profiling_import": ("pyarrow", "yaml")}


def refusals(name: str, answer: object) -> list[str]:
    """What the schema says against an answer."""
    jsonschema: Any = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(answer)]


def stored(name: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_an_answer_fits_its_schema(name: str, ask: Ask, updating_golden: bool) -> None:  # noqa: FBT001 - a fixture
    """Defect: a field is renamed, dropped or null where a program that reads the answer expects it."""
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    answer = ask(COMMANDS[name], code=2 if name == "error" else 0)
    assert refusals(name, answer) == []
    if updating_golden:
        text = json.dumps(_anonymous(answer), indent=1, sort_keys=True)
        (STORED / f"{name}.json").write_text(text + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_stored_example_fits_its_schema(name: str) -> None:
    """Defect: an interface changes and its documented example does not. UPDATE_GOLDEN=1 accepts the change."""
    assert refusals(name, stored(name)) == []


def test_a_stored_prediction_is_what_the_code_predicts(ask: Ask) -> None:
    """Defect: a prediction from the same rows changes unnoticed. UPDATE_GOLDEN=1 accepts the change."""
    old, new = stored("predict"), ask(COMMANDS["predict"])
    assert _figures(new) == pytest.approx(_figures(old))
    assert [row["rows"] for row in new["ops"]] == [row["rows"] for row in old["ops"]]


def test_missing_rows_of_a_prediction_fit_their_schema() -> None:
    rows = stored("predict")["missing"]
    assert rows
    assert [refusals("predict_missing", each) for each in rows] == [[]] * len(rows)


@pytest.mark.parametrize(("name", "part"), [("demo", "report"), ("bench", "figures")])
def test_the_figures_of_the_readme_fit_their_schema(name: str, part: str) -> None:
    kept = json.loads((ROOT / "docs" / "figures" / f"{name}.json").read_text(encoding="utf-8"))
    assert refusals(name, kept[part]) == []


def test_every_answer_has_an_example() -> None:
    """Defect: a new answer has a schema that nothing checks."""
    beside_the_readme = {"demo", "bench", "predict_missing"}
    assert set(COMMANDS) | beside_the_readme == set(ANSWERS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_schema_refuses_what_is_no_such_answer(name: str) -> None:
    """Defect: a schema so loose that it accepts anything."""
    assert refusals(name, {"nothing": "of it"}) != []


def _figures(report: Any) -> dict[str, float]:  # noqa: ANN401 - JSON
    """Times and work of the whole and of each op."""
    whole = {name: report[name] for name in ("iteration_ms", "bound_ms", "bytes_moved", "uncovered_share")}
    ops = {
        f"{row['op']} {name}": row[name] for row in report["ops"] for name in ("time_ms", "flops", "launches")
    }
    return whole | ops


def _anonymous(answer: Any) -> Any:  # noqa: ANN401 - JSON
    """The same without what only says which machine ran the tests."""
    if isinstance(answer, dict):
        hidden = {"driver": "Linux"}
        return {key: hidden.get(key) or _anonymous(part) for key, part in answer.items()}
    return [_anonymous(part) for part in answer] if isinstance(answer, list) else answer
