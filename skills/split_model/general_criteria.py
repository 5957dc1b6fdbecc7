"""What has to hold of any decoder's facts: parameters and layer classes are those of the model that was built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.report import Criterion, Status

if TYPE_CHECKING:
    from skills.split_model.general import GeneralModel
    from skills.split_model.schema import Facts
    from skills.split_model.table import Sources

TOLERANCE = 0.005
"""Rotary buffers, sinks and scales that facts leave out."""


def architecture(facts: Facts, sources: Sources) -> Criterion:
    """Item 1: the config's facts, and that the built model has as many parameters."""
    trace, total, activated = sources.found.trace, facts.parameters["total"], facts.parameters["activated"]
    kinds = ", ".join(dict.fromkeys(f"{each.count} x {each.attention}/{each.mlp}" for each in facts.layers))
    said = f"{facts.dims['num_layers']} layers ({kinds}), {total} parameters, {activated} activated"
    text = "facts are settled; the built model has their parameters"
    identity = "split.1-architecture"
    if trace is None:
        seen = f"{said}; not traced: {sources.found.failure}"
        return Criterion(id=identity, text=text, status="unverified", evidence=seen)
    holds = bool(total) and abs(trace.parameters - (total or 0)) <= TOLERANCE * trace.parameters
    seen = f"{said}; {trace.parameters} built by {trace.model_class or 'Transformers'}"
    return Criterion(id=identity, text=text, status="pass" if holds else "fail", evidence=seen)


def layer_classes(model: GeneralModel, sources: Sources) -> Criterion:
    """Item 1: layers that run different operations are of different classes; found from the trace, not from keys."""
    trace, text = sources.found.trace, "layers of one class run the same operations"
    identity = "split.1-layer-classes"
    if trace is None:
        return Criterion(id=identity, text=text, status="unverified", evidence=sources.found.failure)
    names = {index: layer.name for layer in model.facts.layers for index in layer.indices}
    mixed = [
        f"layer {each.indices[0]} ({each.name_hint}): {', '.join(sorted(seen))}"
        for each in trace.classes
        if len(seen := {names.get(index, "no class") for index in each.indices}) > 1
    ]
    traced = {names.get(each.indices[0], "") for each in trace.classes}
    absent = [layer.name for layer in model.facts.layers if layer.name not in traced]
    status: Status = "fail" if absent else "pass"
    seen_text = f"{len(model.facts.layers)} classes, {len(trace.classes)} by the trace"
    faults = [*(f"{name} was not traced" for name in absent), *mixed]
    return Criterion(
        id=identity,
        text=text,
        status=status,
        evidence=seen_text
        + (f"; one stream of operations in several classes: {'; '.join(faults)}" if faults else ""),
    )
