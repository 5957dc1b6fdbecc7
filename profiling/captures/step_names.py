r"""What an engine's annotation of a step says: phase, tokens, requests.

Forms known: vLLM `execute_<tokens>_context_<n>(...)_generation_<n>(...)`, before that
`execute_context_<n>(<tokens>_<squares>)_generation_<n>(<tokens>)` and `execute_new_<n>_cached_<n>`; SGLang
`step[DECODE bs=32]` and `step[EXTEND bs=2 toks=4096]`; TensorRT-LLM
`_forward_step 7: 2 ctx reqs, 512 ctx tokens, 3 gen reqs`; ranges that name a phase, `:decode_step14_tokens49`; and
`ProfilerStep#7`, which says none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from profiling.captures.contract import UNKNOWN

if TYPE_CHECKING:
    from profiling.captures.contract import Phase

VLLM = re.compile(
    r"execute_(?:(?P<tokens>\d+)_)?context_(?P<context>\d+)(?:\((?P<ctx>[^)]*)\))?"
    r"_generation_(?P<generation>\d+)(?:\((?P<gen>[^)]*)\))?"
)
VLLM_OLD = re.compile(r"execute_new_(?P<new>\d+)_cached_(?P<cached>\d+)$")
SGLANG = re.compile(r"step\[(?P<mode>[A-Z_]+)(?: bs=(?P<batch>\d+))?(?: toks=(?P<tokens>\d+))?[^\]]*\]")
TRTLLM = re.compile(
    r"(?:\[Executor\] )?_forward_step \d+:\s*(?P<context>\d+) ctx reqs,\s*(?P<ctx>\d+) ctx tokens,"
    r"\s*(?P<generation>\d+) gen reqs"
)
WORDED = re.compile(
    r":?(?P<phase>prefill|extend|decode|generation|mixed)(?:[ _:\-]?(?:step|forward|phase|iter|batch)?[ _#\-]?\d*)"
    r"(?:[ _\-,]*tokens?[ _=:]?(?P<tokens>\d+))?",
    re.IGNORECASE,
)
PROFILER_STEP = re.compile(r"(?:ProfilerStep|iteration|step)[ _#]?\d+", re.IGNORECASE)
SGLANG_PHASES: dict[str, Phase] = {
    "DECODE": "decode",
    "TARGET_VERIFY": "decode",
    "DLLM_EXTEND": "prefill",
    "EXTEND": "prefill",
    "DRAFT_EXTEND": "prefill",
    "SPLIT_PREFILL": "prefill",
    "PREFILL": "prefill",
    "MIXED": "mixed",
}
WORDED_PHASES: dict[str, Phase] = {
    "prefill": "prefill",
    "extend": "prefill",
    "decode": "decode",
    "generation": "decode",
    "mixed": "mixed",
}


@dataclass(frozen=True, slots=True)
class StepName:
    """What an annotation says of its step.

    Attributes:
        phase: `unknown` where it names none.
        tokens: New tokens of the step, UNKNOWN where it does not say.
        context_requests: UNKNOWN where it does not say.
        generation_requests: UNKNOWN where it does not say.
        engine: Whether an engine wrote it, rather than a profiler's generic step.
    """

    phase: Phase
    tokens: int = UNKNOWN
    context_requests: int = UNKNOWN
    generation_requests: int = UNKNOWN
    engine: bool = True


def step_name(name: str) -> StepName | None:
    """What a range's name says; None where it is no step."""
    text = name.strip()
    for read in (_vllm, _vllm_old, _sglang, _trtllm, _worded):
        found = read(text)
        if found is not None:
            return found
    return StepName("unknown", engine=False) if PROFILER_STEP.fullmatch(text) else None


def _vllm(text: str) -> StepName | None:
    found = VLLM.match(text)
    if found is None:
        return None
    context, generation = int(found["context"]), int(found["generation"])
    if found["tokens"]:
        tokens = int(found["tokens"])
    else:
        parts = [_tokens(found["ctx"], context), _tokens(found["gen"], generation)]
        tokens = UNKNOWN if UNKNOWN in parts else sum(parts)
    return StepName(_phase(context, generation), tokens, context, generation)


def _tokens(inside: str | None, requests: int) -> int:
    """New tokens of one phase: `888_788544`, `sq8155sk8430...` or `888`."""
    found = re.match(r"(?:sq)?(\d+)", inside or "")
    if found:
        return int(found[1])
    return UNKNOWN if requests else 0


def _vllm_old(text: str) -> StepName | None:
    """New requests are in prefill; a cached one is in decode or in a later chunk of its prefill."""
    found = VLLM_OLD.match(text)
    if found is None:
        return None
    new, cached = int(found["new"]), int(found["cached"])
    return StepName(
        "prefill" if new and not cached else "unknown", context_requests=new if not cached else UNKNOWN
    )


def _sglang(text: str) -> StepName | None:
    found = SGLANG.fullmatch(text)
    if found is None:
        return None
    phase = SGLANG_PHASES.get(found["mode"], "unknown")
    batch = int(found["batch"]) if found["batch"] else UNKNOWN
    tokens = int(found["tokens"]) if found["tokens"] else UNKNOWN
    if phase == "decode":
        plain = tokens == UNKNOWN and found["mode"] == "DECODE"
        return StepName(phase, batch if plain else tokens, 0, batch)
    if phase == "prefill":
        return StepName(phase, tokens, batch, 0)
    return StepName(phase, tokens)


def _trtllm(text: str) -> StepName | None:
    found = TRTLLM.match(text)
    if found is None:
        return None
    context, generation = int(found["context"]), int(found["generation"])
    return StepName(_phase(context, generation), int(found["ctx"]) + generation, context, generation)


def _worded(text: str) -> StepName | None:
    found = WORDED.fullmatch(text)
    if found is None:
        return None
    phase = WORDED_PHASES[found["phase"].lower()]
    return StepName(phase, int(found["tokens"]) if found["tokens"] else UNKNOWN)


def _phase(context: int, generation: int) -> Phase:
    if context and generation:
        return "mixed"
    if context:
        return "prefill"
    return "decode" if generation else "unknown"
