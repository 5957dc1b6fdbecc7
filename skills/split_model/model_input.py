"""Which model is meant: a bundled name, a file or a config in the call; and whether this split covers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from servingsim.archs.dense import whole_shape
from servingsim.archs.hf_config import dense_facts, json_object
from servingsim.archs.models import bundled
from servingsim.archs.stacks import transformers, vllm
from servingsim.errors import ServingSimError
from servingsim.worklets.partition import partition

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.worklets.partition import DecoderShape
    from servingsim.worklets.stack import Stack
    from skills.desk import Desk
    from skills.split_model.schema import SplitRequest

STACKS = {"vllm": vllm.STACK, "transformers": transformers.STACK}
"""Stacks whose launches the shipped decomposition states; read from the package alone, never from a workspace."""


@dataclass(frozen=True)
class ModelOnStack:
    """What is split.

    Attributes:
        config: The config.json, decoded.
        facts: What it says.
        rank: One rank's part.
        stack: The serving stack's facts.
        whole: The undivided model as the stack sees it, which the trace is compared with.
    """

    config: dict[str, Any]
    facts: DenseFacts
    rank: DecoderShape
    whole: DecoderShape
    stack: Stack

    @property
    def undivided(self) -> ModelOnStack:
        """The same on one rank, which is what is traced."""
        return replace(self, rank=self.whole)

    @property
    def traced_parameters(self) -> int:
        """Parameters of one layer of each class and of what is outside the loop."""
        facts = self.facts
        layer = facts.layer_gemm_parameters + facts.layer_other_parameters
        return len(facts.layer_groups) * layer + facts.embedding_parameters + facts.hidden_size


def model_on_stack(request: SplitRequest, desk: Desk) -> ModelOnStack:
    """Read the model and refuse what this split cannot answer, with the reason.

    Raises:
        ServingSimError: E_INPUT, not exactly one model, no dense decoder, or a parallelism that a dense one has
            not; E_NOT_FOUND, no such model, or no statement of what the stack launches.
    """
    _refuse_shapes(request)
    if request.stack not in STACKS:
        raise ServingSimError(
            f"stack {request.stack!r}: what it fuses is not in the catalogue",
            code="E_NOT_FOUND",
            known=", ".join(STACKS),
            hint="split for a known stack, or add a stack with the source of each fusion",
            path="stack",
        )
    config, where = _config(request, desk)
    facts = dense_facts(config, where=where, dtype=None if request.dtype == "auto" else request.dtype)
    stack, whole = (
        STACKS[request.stack],
        whole_shape(facts, None if request.kv_dtype == "auto" else request.kv_dtype),
    )
    return ModelOnStack(config, facts, partition(whole, request.tp, stack), partition(whole, 1, stack), stack)


def _refuse_shapes(request: SplitRequest) -> None:
    for name, value, reason in (
        ("pp", request.pp, "layers on several ranks are equal: split one rank with pp 1"),
        ("ep", request.ep, "a dense decoder has no experts to spread"),
    ):
        if value != 1:
            raise ServingSimError(f"{name} {value}: {reason}", known=f"{name} 1", path=name)
    labels = [phase.label for phase in request.phases]
    if len(set(labels)) != len(labels):
        raise ServingSimError("a phase is given twice", path="phases", hint="give each shape once")
    for index, phase in enumerate(request.phases):
        if phase.phase == "decode" and phase.q_len != 1:
            raise ServingSimError(
                f"decode with q_len {phase.q_len}", known="q_len 1", path=f"phases.{index}.q_len"
            )


def _config(request: SplitRequest, desk: Desk) -> tuple[dict[str, Any], str]:
    if bool(request.model) == bool(request.config):
        given = "both" if request.model else "neither"
        raise ServingSimError(
            f"give either model or config, {given} was given", path="model", known="one of the two"
        )
    if request.config:
        return dict(request.config), "config"
    named = bundled().get(request.model.lower())
    if named is None and "/" not in request.model and not request.model.endswith(".json"):
        _refuse_name(request.model, desk)
    path = named or desk.readable(request.model, what="model")
    return json_object(path / "config.json" if path.is_dir() else path), request.model


def _refuse_name(name: str, desk: Desk) -> None:
    """A bare word may still be a folder below the roots."""
    try:
        desk.readable(name, what="model")
    except ServingSimError as error:
        if error.code != "E_NOT_FOUND":
            raise
        raise ServingSimError(
            f"no model {name!r}",
            code="E_NOT_FOUND",
            known=", ".join(bundled()),
            hint="a bundled name, or the path of a config.json or its folder",
            path="model",
        ) from error
