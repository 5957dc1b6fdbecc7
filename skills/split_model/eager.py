"""The catalogue of eager code, which merges what the traced model's own modules merge: families differ in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from skills.split_model.rows.modules import ATTENTION, FEED_FORWARD, PROJECTIONS, SHARED

if TYPE_CHECKING:
    from profiling.model_trace import ModelTrace
    from skills.split_model.catalogue.entry import Merge
    from skills.split_model.general import GeneralModel

MERGED: dict[Merge, str] = {
    "qkv": rf"{ATTENTION}\.(?:{PROJECTIONS['qkv']})",
    "gate_up": rf"(?:{FEED_FORWARD}|{SHARED})\.(?:{PROJECTIONS['gate_up']})",
}
"""Modules that one projection of several inputs has."""


def as_traced(model: GeneralModel, trace: ModelTrace | None) -> GeneralModel:
    """The model on its stack; of eager code with the projections merged that its modules merge."""
    if trace is None or model.name != "transformers":
        return model
    modules = {op.module for op in trace.ops if op.layer >= 0}
    merged = {
        name for name, pattern in MERGED.items() if any(re.fullmatch(pattern, module) for module in modules)
    }
    catalogue = replace(model.catalogue, merges=model.catalogue.merges | merged)
    return replace(model, catalogue=catalogue)
