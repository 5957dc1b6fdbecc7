"""Which validated errors an answer is given, and the words for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from servingsim.errors import ServingSimError
from servingsim.sim.validated import ValidatedRecord, ValidatedScope, read_validated
from servingsim.sim.validated.match import Subject, holds, parts_of
from servingsim.sim.validated.read import parse_validated
from servingsim.sim.validated.words import how_to_validate, said

GEMM = Subject("single_gemm", "H100", ("vllm", "vllm-0.24.0:linear"), "0.24.0", dtype="bf16")
DECODE = Subject("attention_decode", "H100", ("vllm",), "0.24.0", dtype="bf16")
ITERATION = Subject("iteration", "H100", ("vllm",), "0.24.0", "llama", "bf16")
SCOPE: dict[str, Any] = {
    "devices": ["H100"],
    "stacks": ["vllm"],
    "versions": ["0.24.0"],
    "kinds": ["single_gemm"],
}


def record(**fields: Any) -> ValidatedRecord:  # noqa: ANN401 - fields of a record, checked there
    """Of GEMMs, but for the fields."""
    scope = ValidatedScope(**(SCOPE | fields.pop("scope", {})))
    told = {"id": "gemm", "metric": "time", "mape_percent": 2.41, "points": 30000, "claim": "gemm_h100"}
    return ValidatedRecord(scope=scope, **(told | fields))


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ({}, True),
        ({"devices": ["any"], "versions": ["any"]}, True),
        ({"stacks": ["sglang", "vllm-0.24.0:linear"]}, True),
        ({"dtypes": ["fp16", "bf16"]}, True),
        ({"devices": ["H200"]}, False),
        ({"stacks": ["sglang"]}, False),
        ({"versions": ["0.23.0"]}, False),
        ({"kinds": ["attention_decode"]}, False),
        ({"kinds": ["any"]}, False),
        ({"dtypes": ["fp8"]}, False),
        ({"models": ["llama"]}, False),
    ],
)
def test_a_record_holds_only_where_all_of_its_scope_does(scope: dict[str, Any], expected: object) -> None:
    """Defect: an error measured on one device, version or dtype vouches for another."""
    assert holds(record(scope=scope).scope, GEMM) is expected


def test_validated_parts_are_told_with_figure_points_and_claim_and_the_others_named() -> None:
    """Defect: a figure without its size, or a part that nobody validated left unsaid."""
    parts = parts_of([(GEMM, 0.3), (DECODE, 0.2), (GEMM, 0.4), (ITERATION, 0.1)], [record()])
    assert [(part.kind, round(part.share, 9)) for part in parts] == [
        ("single_gemm", 0.7),
        ("attention_decode", 0.2),
        ("iteration", 0.1),
    ]
    assert said(parts) == (
        "single_gemm on H100, vllm 0.24.0: 2.4 % on 30,000 held-out points (gemm_h100); "
        "not validated: attention_decode, whole iterations"
    )
    assert how_to_validate(parts).startswith("attention_decode: `servingsim fidelity")
    assert "iteration: `servingsim align`" in how_to_validate(parts)


def test_rows_of_an_unknown_version_are_told_which_version_was_compared() -> None:
    """Defect: rows measured on the user's own machine, which name no version, are never validated by anything."""
    own = Subject("single_gemm", "H100", ("vllm",), dtype="bf16")
    assert said(parts_of([(own, 1.0)], [record()])) == (
        "single_gemm on H100, vllm: 2.4 % on 30,000 held-out points (gemm_h100, of 0.24.0)"
    )


def test_nothing_validated_is_said_in_two_words() -> None:
    parts = parts_of([(GEMM, 1.0)], [record(scope={"devices": ["H200"]})])
    assert said(parts) == "not validated"


def test_what_is_all_validated_asks_for_no_command() -> None:
    """Defect: a reader is sent to validate what has been."""
    parts = parts_of([(GEMM, 1.0)], [record()])
    assert how_to_validate(parts) == ""


def test_metrics_other_than_time_are_named() -> None:
    """Defect: the error of TTFT is read as that of an iteration's time."""
    records = [
        record(id=metric, metric=metric, scope={"kinds": ["iteration"]}, mape_percent=3, points=7)
        for metric in ("TTFT", "time")
    ]
    assert "TTFT 3 % on 7 held-out points (gemm_h100), 3 % on 7" in said(
        parts_of([(ITERATION, 1.0)], records)
    )


def test_the_package_brings_records_that_can_be_read() -> None:
    """Defect: a generated file that no prediction can read, found by the first user."""
    records = read_validated()
    assert len({each.id for each in records}) == len(records)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "the file"),
        ('[{"id": "x"}]', "record 0.scope"),
        (json.dumps([record().model_dump(mode="json") | {"mape": 3}]), "record 0.mape"),
        (json.dumps([record().model_dump(mode="json") | {"points": 0}]), "record 0.points"),
        (json.dumps([record().model_dump(mode="json")] * 2), "two validated records named 'gemm'"),
    ],
)
def test_a_file_of_another_form_is_refused_by_record_and_field(text: str, named: str) -> None:
    """Defect: a broken record is skipped, and its error never shown."""
    with pytest.raises(ServingSimError) as error:
        parse_validated(text, "validated.json")
    assert named in str(error.value)
