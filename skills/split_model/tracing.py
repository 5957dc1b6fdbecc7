"""Step 3: the math of the model, traced once and kept in the workspace's state by what it depends on."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from profiling.model_trace import ModelTrace, TracePhase, trace_any, trace_from, trace_model
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from skills.desk import Desk
    from skills.split_model.general import GeneralModel
    from skills.split_model.model_input import ModelOnStack
    from skills.split_model.schema import PhaseShape

CONFIG_FIELDS = (
    "model_type", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size",
    "vocab_size", "max_position_embeddings", "hidden_act", "tie_word_embeddings", "attention_bias", "mlp_bias",
    "rms_norm_eps", "rope_theta", "rope_scaling", "rope_parameters", "use_sliding_window", "sliding_window",
)  # fmt: skip
"""What the math depends on. The rest of a config (code to load, quantisation, identifiers) is left out."""


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
        "phases": _phases(phases),
        "dtype": model.facts.dtype,
        "windows": [group.window_size for group in groups],
    }
    return _through(
        wanted,
        desk,
        lambda phases: trace_model(
            wanted["config"], phases, dtype=wanted["dtype"], windows=wanted["windows"]
        ),
        lambda _trace: classes,
        fresh=fresh,
    )


def traced_whole(
    model: GeneralModel, phases: Sequence[PhaseShape], desk: Desk, *, fresh: bool = False
) -> Traced:
    """Trace any model in its whole depth, one layer of each class kept; its classes are the facts' own.

    Args:
        model: The model.
        phases: What to run.
        desk: Where traces are kept.
        fresh: Trace again, whatever is kept.
    """
    dtype = model.facts.dtype if model.facts.dtype in TRACED_DTYPES else "bf16"
    wanted: dict[str, Any] = {
        "config": model.config,
        "phases": _phases(phases),
        "dtype": dtype,
        "whole": True,
    }
    names = {index: layer.name for layer in model.facts.layers for index in layer.indices}

    def classes(trace: ModelTrace) -> tuple[str, ...]:
        """By layer index, as operations name it."""
        depth = max((op.layer for op in trace.ops), default=-1) + 1
        return tuple(names.get(index, "") for index in range(depth))

    return _through(
        wanted, desk, lambda shapes: trace_any(model.config, shapes, dtype=dtype), classes, fresh=fresh
    )


TRACED_DTYPES = {"bf16", "fp16", "fp32"}


def _phases(phases: Sequence[PhaseShape]) -> list[dict[str, Any]]:
    return [
        {"name": each.label, "batch": each.batch, "q_len": each.q_len, "context": each.context}
        for each in phases
    ]


def _through(
    wanted: dict[str, Any],
    desk: Desk,
    run: Callable[[list[TracePhase]], ModelTrace],
    classes: Callable[[ModelTrace], tuple[str, ...]],
    *,
    fresh: bool,
) -> Traced:
    """What is kept of the same trace, or a new one, kept in turn."""
    file = desk.state / "traces" / f"{_key(wanted)}.json"
    kept = None if fresh else _kept(file)
    if kept is not None:
        return Traced(kept, classes(kept))
    try:
        trace = run([TracePhase(**each) for each in wanted["phases"]])
    except ServingSimError as error:
        return Traced(None, (), error.what)
    if not desk.read_only:
        _keep(file, trace)
    return Traced(trace, classes(trace))


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

    sources = sorted((PACKAGE_ROOT / "profiling").glob("model_trace*.py"))
    parts.extend(file.read_text(encoding="utf-8") for file in sources)
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
