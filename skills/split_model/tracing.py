"""Step 3: the math of the model, traced once and kept in the workspace's state by what it depends on."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profiling.model_trace import ModelTrace, TracePhase, trace_from, trace_model
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skills.desk import Desk
    from skills.split_model.model_input import ModelOnStack
    from skills.split_model.schema import PhaseShape

CONFIG_FIELDS = (
    "model_type", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
    "vocab_size", "max_position_embeddings", "hidden_act", "tie_word_embeddings", "attention_bias", "mlp_bias",
    "rms_norm_eps", "rope_theta", "rope_scaling", "rope_parameters", "use_sliding_window", "sliding_window",
)  # fmt: skip
"""What the math depends on. The rest of a config (code to load, quantisation, identifiers) is left out."""
SOURCES = ("model_trace.py", "model_trace_worker.py", "model_trace_recorder.py")


@dataclass(frozen=True)
class Traced:
    """A trace, or why there is none.

    Attributes:
        trace: None where the libraries are absent or failed.
        classes: Layer class of each traced layer.
        failure: The reason, empty where there is a trace.
    """

    trace: ModelTrace | None
    classes: tuple[str, ...]
    failure: str = ""


def traced(model: ModelOnStack, phases: Sequence[PhaseShape], desk: Desk, *, fresh: bool = False) -> Traced:
    """Trace one layer of each class and what is outside the loop, at the model's widths.

    Args:
        model: The model.
        phases: What to run.
        desk: Where traces are kept.
        fresh: Trace again, whatever is kept.
    """
    groups = model.facts.layer_groups
    classes = tuple(group.name for group in groups)
    wanted: dict[str, Any] = {
        "config": _config(model),
        "phases": [
            {"name": each.label, "batch": each.batch, "q_len": each.q_len, "context": each.context}
            for each in phases
        ],
        "dtype": model.facts.dtype,
        "windows": [group.window_size for group in groups],
    }
    file = desk.state / "traces" / f"{_key(wanted)}.json"
    kept = None if fresh else _kept(file)
    if kept is not None:
        return Traced(kept, classes)
    try:
        trace = trace_model(
            wanted["config"],
            [TracePhase(**each) for each in wanted["phases"]],
            dtype=wanted["dtype"],
            windows=wanted["windows"],
        )
    except ServingSimError as error:
        return Traced(None, classes, error.what)
    if not desk.read_only:
        _keep(file, trace)
    return Traced(trace, classes)


def _config(model: ModelOnStack) -> dict[str, Any]:
    """The config with one layer of each class."""
    groups = model.facts.layer_groups
    config = {name: model.config[name] for name in CONFIG_FIELDS if name in model.config}
    if model.config.get("layer_types") is not None or len(groups) > 1:
        config["layer_types"] = [
            "sliding_attention" if group.window_size else "full_attention" for group in groups
        ]
    elif model.facts.num_sliding_layers:
        config["max_window_layers"] = 0
    return config | {"num_hidden_layers": len(groups)}


def _key(wanted: dict[str, Any]) -> str:
    """Of what is traced, with which libraries and by which code."""
    parts = [json.dumps(wanted, sort_keys=True)]
    for library in ("torch", "transformers"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            parts.append(f"{library} {importlib.metadata.version(library)}")
    from profiling.discovery import PACKAGE_ROOT  # noqa: PLC0415 - only a path

    parts.extend((PACKAGE_ROOT / "profiling" / name).read_text(encoding="utf-8") for name in SOURCES)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _kept(file: Path) -> ModelTrace | None:
    """What was kept; None where it is absent or damaged: it is traced again."""
    try:
        return trace_from(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(file: Path, trace: ModelTrace) -> None:
    """Write it whole or not at all; a disk that refuses costs the next call a trace, nothing else."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(trace.to_dict()), encoding="utf-8")
        partial.replace(file)
