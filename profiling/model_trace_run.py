"""The phases of a trace: each a forward on shapes, after one that fills the cache. In the trace worker only."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from transformers import DynamicCache

from profiling.model_trace_loops import keep_loops_whole
from profiling.model_trace_recorder import LAYERS, Recorder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.model_trace import TracePhase
    from profiling.model_trace_build import Built
    from profiling.model_trace_regions import Regions

CACHES = ("cache", "past_key_values", "cache_params", "state")
"""How models name what a forward leaves for the next one, in their results as in their arguments."""


def run(built: Built, phases: Sequence[TracePhase], regions: Regions) -> tuple[Recorder, str]:
    """Record every phase.

    Returns:
        The recorder, with all layers' operations, and the path of the list of layers.
    """
    path = layers_path(built)
    recorder = Recorder(built.model, layers=path.replace(".", r"\.") if path else LAYERS)
    regions.recorder = recorder
    regions.plain_experts(built.model, int(getattr(built.config, "num_experts_per_tok", 0) or 0))
    keep_loops_whole(built.model, regions)
    with torch.inference_mode():
        for phase in phases:
            before: dict[str, Any] = {}
            if phase.context:
                regions.context = 0
                before = _filled(built, phase)
            regions.context = phase.context
            with recorder.phase(phase.name):
                _forward(built, phase.batch, phase.q_len, before)
    regions.recorder = None
    return recorder, path


def layers_path(built: Built) -> str:
    """Where the decoder's layers are: the outermost list that has as many modules as the config has layers."""
    wanted = getattr(built.config, "num_hidden_layers", None)
    lists = [
        (name, len(module))
        for name, module in built.model.named_modules()
        if isinstance(module, torch.nn.ModuleList) and not any(part.isdigit() for part in name.split("."))
    ]
    fitting = [each for each in lists if each[1] == wanted] or lists
    text = [each for each in fitting if not any(word in each[0] for word in ("vision", "visual", "audio"))]
    return max(text or fitting, key=lambda each: each[1], default=("", 0))[0]


def _forward(built: Built, batch: int, tokens: int, before: dict[str, Any]) -> Any:  # noqa: ANN401 - a model's output
    rows = batch * getattr(built.model, "num_codebooks", 1)
    ids = torch.zeros((rows, tokens), dtype=torch.long, device="meta")
    known = inspect.signature(built.model.forward).parameters
    wanted = {"use_cache": True, "logits_to_keep": 1}
    return built.model(
        input_ids=ids, **{key: value for key, value in wanted.items() if key in known}, **before
    )


def _filled(built: Built, phase: TracePhase) -> dict[str, Any]:
    """The cache that a phase's context leaves, under the name by which the next forward takes it."""
    output = _forward(built, phase.batch, phase.context, {})
    left = {name: output[name] for name in CACHES if output.get(name) is not None}
    if left:
        return left
    if "cache" not in inspect.signature(built.model.forward).parameters:
        raise ValueError("the forward takes no cache: what comes after a context cannot be traced")
    made = {"cache": DynamicCache(config=built.config)}
    _forward(built, phase.batch, phase.context, made)
    return made


def parameters(built: Built, recorder: Recorder) -> int:
    """Weights of the text model: of modules that a forward went through, where others hang beside it."""
    if built.whole:
        return int(built.model.num_parameters())
    owned = (
        weight
        for name, module in built.model.named_modules()
        if name in recorder.entered
        for weight in module.parameters(recurse=False)
    )
    return sum(each.numel() for each in {id(each): each for each in owned}.values())
