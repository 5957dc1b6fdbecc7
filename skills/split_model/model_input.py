"""Which model is meant: a bundled name, a file or a config in the call; and which way it is split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from servingsim.archs.dense import whole_shape
from servingsim.archs.hf_config import dense_facts, json_object
from servingsim.archs.models import bundled
from servingsim.archs.stacks import transformers, vllm
from servingsim.errors import ServingSimError
from servingsim.worklets.partition import partition
from skills.split_model.catalogue.find import catalogue_of
from skills.split_model.general import general_model

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.worklets.partition import DecoderShape
    from servingsim.worklets.stack import Stack
    from skills.desk import Desk
    from skills.split_model.general import GeneralModel
    from skills.split_model.schema import SplitRequest

QUANTISATION = "hf_quant_config.json"
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


def model_on_stack(request: SplitRequest, desk: Desk) -> ModelOnStack | GeneralModel:
    """Read the model: a dense decoder on a stack that the shipped decomposition states, or any other decoder.

    Raises:
        ServingSimError: E_INPUT, not exactly one model, no decoder, or a parallelism that does not fit it;
            E_NOT_FOUND, no such model, or no statement of what the stack launches.
    """
    _refuse_shapes(request)
    catalogue_of(request.stack)
    config, where, quantisation = _config(request, desk)
    facts = _dense(request, config, where)
    if facts is None or request.ep != 1:
        return general_model(request, config, where, quantisation)
    kv_dtype = None if request.kv_dtype == "auto" else request.kv_dtype
    stack, whole = STACKS[request.stack], whole_shape(facts, kv_dtype)
    return ModelOnStack(config, facts, partition(whole, request.tp, stack), partition(whole, 1, stack), stack)


def _dense(request: SplitRequest, config: dict[str, Any], where: str) -> DenseFacts | None:
    """Facts of a dense decoder; None where the model is none, and the general way says what is wrong, if it is."""
    if request.stack not in STACKS:
        return None
    try:
        return dense_facts(config, where=where, dtype=None if request.dtype == "auto" else request.dtype)
    except ServingSimError:
        return None


def _refuse_shapes(request: SplitRequest) -> None:
    if request.pp != 1:
        reason = "layers on several ranks are equal: split one rank with pp 1"
        raise ServingSimError(f"pp {request.pp}: {reason}", known="pp 1", path="pp")
    labels = [phase.label for phase in request.phases]
    if len(set(labels)) != len(labels):
        raise ServingSimError("a phase is given twice", path="phases", hint="give each shape once")
    for index, phase in enumerate(request.phases):
        if phase.phase == "decode" and phase.q_len != 1:
            raise ServingSimError(
                f"decode with q_len {phase.q_len}", known="q_len 1", path=f"phases.{index}.q_len"
            )


def _config(request: SplitRequest, desk: Desk) -> tuple[dict[str, Any], str, dict[str, Any] | None]:
    """The config, where it is from, and the quantisation file beside it."""
    if bool(request.model) == bool(request.config):
        given = "both" if request.model else "neither"
        raise ServingSimError(
            f"give either model or config, {given} was given", path="model", known="one of the two"
        )
    if request.config:
        return dict(request.config), "config", None
    named = bundled().get(request.model.lower())
    if named is None and "/" not in request.model and not request.model.endswith(".json"):
        _refuse_name(request.model, desk)
    path = named or desk.readable(request.model, what="model")
    file = path / "config.json" if path.is_dir() else path
    beside = file.parent / QUANTISATION
    return json_object(file), request.model, json_object(beside) if beside.is_file() else None


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
