"""Genuine configs, traced in their whole depth, and the survey of every model type."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from profiling.model_trace import TracePhase, trace_any
from profiling.model_trace_survey import main, summary
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

PHASES = (
    TracePhase("prefill", batch=1, q_len=1024, context=0),
    TracePhase("decode", batch=8, q_len=1, context=2048),
)
PUBLISHED = {
    "deepseek-ai--DeepSeek-V3.json": (671.03e9, [3, 58]),
    "moonshotai--Kimi-K2-Thinking.json": (1026.4e9, [1, 60]),
    "Qwen--Qwen3-30B-A3B.json": (30.53e9, [48]),
    "aicrefs--Qwen--Qwen3-Next-80B-A3B-Thinking.json": (79.67e9, [36, 12]),
    "openai--gpt-oss-20b.json": (20.91e9, [12, 12]),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.json": (31.58e9, [23, 23, 6]),
    "meta-llama--Llama-4-Scout-17B-16E-Instruct.json": (107.77e9, [36, 12]),
    "llama-3.1-8b-instruct.json": (8.03e9, [32]),
}
"""Parameters of the text model as their cards say them, and how many layers each class has."""


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_genuine_config_traces_in_its_whole_depth(shared_data: Path, name: str) -> None:
    """Defect: a field of a genuine config (quantisation, nesting, an old name) that the trace stumbles over."""
    config = json.loads((shared_data / "configs" / name).read_text(encoding="utf-8"))
    trace = trace_any(config, PHASES, dtype="bf16")
    parameters, layers = PUBLISHED[name]
    assert trace.parameters == pytest.approx(parameters, rel=0.005)
    assert [len(each.indices) for each in trace.classes] == layers


@pytest.mark.slow
@pytest.mark.long
def test_a_trace_that_cannot_be_made_is_an_error_of_the_toolchain() -> None:
    """Defect: a refusal of the worker that reaches the caller as a crash."""
    with pytest.raises(ServingSimError) as refused:
        trace_any({"model_type": "no_such"}, PHASES, dtype="bf16")
    assert refused.value.code == "E_TOOLCHAIN"
    assert "no_such" in refused.value.what


@pytest.mark.slow
@pytest.mark.long
def test_a_survey_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Defect: an interrupted survey begins anew, or forgets what it had found."""
    out = tmp_path / "lines.jsonl"
    main(["--out", str(out), "--only", "gpt2", "jetmoe"])
    main(["--out", str(out), "--only", "opt", "--json"])
    found = json.loads(capsys.readouterr().out.split("}\n", 1)[1])
    assert [json.loads(line)["model_type"] for line in out.read_text(encoding="utf-8").splitlines()] == [
        "gpt2",
        "jetmoe",
        "opt",
    ]
    assert list(found["failed"]) == ["jetmoe"]


def _line(model_type: str, kind: str, *, ok: bool) -> dict[str, Any]:
    return {"model_type": model_type, "kind": kind, "ok": ok} | ({} if ok else {"reason": "no cache"})


def test_the_share_of_a_survey_is_that_of_decoders_alone() -> None:
    """Defect: encoders that happen to trace raise the share that is claimed."""
    lines = [_line("a", "decoder", ok=True), _line("b", "decoder", ok=False), _line("c", "encoder", ok=True)]
    found = summary(lines)
    assert found["counts"] == {
        "decoder_types": 2,
        "traced": 1,
        "share": 0.5,
        "other_types": 1,
        "other_traced": 1,
    }
    assert found["failed"] == {"b": "no cache"}
