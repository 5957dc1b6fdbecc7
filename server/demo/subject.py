"""What the demonstration runs: a genuine small model, on the CPU at hand, through Transformers."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from profiling.forward_case import ForwardCase
from profiling.plan import Job
from servingsim.archs.hf_config import dense_facts, read_facts
from servingsim.archs.models import config_path
from servingsim.archs.stack_registry import stack_named
from servingsim.sim.evaluate import evaluate
from servingsim.sim.missing import missing_kernels
from servingsim.sim.options import PredictOptions
from servingsim.timing.batch import Batch
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from servingsim.archs.facts import DenseFacts

STACK = "transformers"
CASES = (
    ForwardCase(1, 128, 0),
    ForwardCase(1, 512, 0),
    ForwardCase(1, 1, 512),
    ForwardCase(8, 1, 512),
)
MAX_NUM_TOKENS = 512
MAX_NUM_SEQS = 8
MAX_MODEL_LEN = 768
NARROW = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "vocab_size": 1024,
}
"""6 MiB of weights a layer in bf16."""


@dataclass(frozen=True)
class Subject:
    """A model and where it is predicted.

    Attributes:
        name: For people.
        config: Its config, decoded: what Transformers builds.
        facts: The same as facts: what the simulator builds.
        options: Device, stack and the domain that is measured.
    """

    name: str
    config: dict[str, Any]
    facts: DenseFacts
    options: PredictOptions

    @classmethod
    def read(cls, model: str | Path, device: str) -> Subject:
        """A bundled model by name, or a config.json."""
        path = config_path(model)
        file = path / "config.json" if path.is_dir() else path
        facts = read_facts(file)
        return cls(str(model), json.loads(file.read_text(encoding="utf-8")), facts, cpu_options(device))


def cpu_options(
    device: str,
    *,
    max_num_tokens: int = MAX_NUM_TOKENS,
    max_num_seqs: int = MAX_NUM_SEQS,
    max_model_len: int = MAX_MODEL_LEN,
) -> PredictOptions:
    """Predictions that rest on measured rows alone, over the demonstration's domain or a smaller one."""
    return PredictOptions(
        device=device,
        stack=stack_named(STACK),
        on_missing="refuse",
        max_num_tokens=max_num_tokens,
        max_num_seqs=max_num_seqs,
        max_model_len=max_model_len,
    )


def batch_of(case: ForwardCase) -> Batch:
    """A forward case as the simulator's batch: its KV lengths count the new token."""
    if case.q_len == 1 and case.context_len:
        return Batch.of(decode=[case.context_len + 1] * case.batch_size)
    return Batch.of(prefill=[[case.q_len, case.context_len]] * case.batch_size)


def jobs_for(facts: DenseFacts, options: PredictOptions, cases: Sequence[ForwardCase]) -> list[Job]:
    """Every grid point that pricing the cases can ask for, each once: what to measure on an empty store."""
    # Which points a grid has does not depend on how fast the device is.
    nothing = MemorySource(devices={options.device: DeviceSpec(options.device, {facts.dtype: 1.0}, 1.0, 1)})
    estimate = replace(options, on_missing="estimate")
    specs: dict[tuple[str, str], dict[tuple[object, ...], dict[str, Any]]] = {}
    for case in cases:
        for missing in missing_kernels(evaluate(facts, batch_of(case), nothing, estimate).logs):
            known = specs.setdefault((missing.kind, missing.backend), {})
            known.update({tuple(spec.values()): dict(spec) for spec in missing.specs})
    return [Job(kind, backend, list(found.values())) for (kind, backend), found in specs.items()]


def narrow(subject: Subject, layers: int) -> Subject:
    """The same architecture with a fraction of the width: the host is a good part of a step."""
    config = subject.config | NARROW | {"num_hidden_layers": layers, "max_window_layers": layers}
    facts = dense_facts(config, where=f"{subject.name}, narrow")
    options = cpu_options(subject.options.device, max_num_tokens=1, max_num_seqs=1, max_model_len=32)
    return Subject(f"{subject.name}, {layers} narrow layers", config, facts, options)
