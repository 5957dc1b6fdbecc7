"""The public traces: how many requests, over which time, sharing how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.sim.workload.load import describe, workload_of
from servingsim.sim.workload.spec import WorkloadSpec

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.shared


@pytest.mark.parametrize(
    ("name", "source", "requests"),
    [
        ("traces/AzureLLMInferenceTrace_conv.csv", "Azure", 19_366),
        ("traces/AzureLLMInferenceTrace_code.csv", "Azure", 8_819),
        ("traces/mooncake_conversation_trace.jsonl", "Mooncake", 12_031),
        ("traces/sharegpt_lengths_llama-3.1-8b_300_sps10.csv", "nanoseconds", 300),
        ("e2e/llmservingsim/RTX4090/Llama-3.1-8B/vllm/requests.jsonl", "LLMServingSim", 300),
    ],
)
def test_a_public_trace_is_read_whole(shared_data: Path, name: str, source: str, requests: int) -> None:
    """Defect: a trace read in part, or in another unit: none of these lasts under ten seconds or over two hours."""
    workload = workload_of(WorkloadSpec(path=str(shared_data / name)))
    assert source in workload.source
    assert len(workload) == requests
    assert 10 < (describe(workload).span_s or 0) < 7200


def test_conversations_share_a_third_of_their_prompts(shared_data: Path) -> None:
    """Defect: hashes are not the keys of the loop. Mooncake's paper reports 40 % of blocks reused at most."""
    spec = WorkloadSpec(path=str(shared_data / "traces/mooncake_conversation_trace.jsonl"))
    assert 0.3 < describe(workload_of(spec)).repeated_share < 0.45


def test_a_log_and_its_workload_agree(shared_data: Path) -> None:
    """Defect: seconds of one file and nanoseconds of the other are not the same times."""
    log = workload_of(
        WorkloadSpec(path=str(shared_data / "e2e/llmservingsim/RTX4090/Llama-3.1-8B/vllm/requests.jsonl"))
    )
    lengths = workload_of(
        WorkloadSpec(path=str(shared_data / "traces/sharegpt_lengths_llama-3.1-8b_300_sps10.csv"))
    )
    assert (log.prompt == lengths.prompt).all()
    assert (log.output == lengths.output).all()
    # The client of the log slept a little longer than asked before each request.
    assert abs(log.arrival_ms - lengths.arrival_ms).max() < 0.02 * lengths.arrival_ms[-1]
