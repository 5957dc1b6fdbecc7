"""What is compared: a model that Transformers builds, the steps to run, and the kernels that predict them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from profiling.forward_case import ForwardCase
from server.forward.walks import walks_through
from servingsim.archs.explore.read import model_facts
from servingsim.archs.hf_config import MODEL_TYPES, dense_facts
from servingsim.archs.stack_registry import stack_named
from servingsim.archs.table_model import TableModel
from servingsim.errors import ServingSimError
from servingsim.sim.evaluate import evaluate
from servingsim.sim.options import PredictOptions
from servingsim.timing.batch import Batch
from servingsim.timing.source import DeviceSpec, MemorySource
from skills.split_model.table_model import table_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from profiling.forward_walks import Walks
    from profiling.specs import Spec
    from servingsim.archs.facts import DenseFacts

STACK = "transformers"
CONTEXT_ROOM = 64
"""Positions beyond the longest context: decode steps follow one another."""
NARROWER = 4
NARROWED = ("hidden_size", "vocab_size")
WIDENED = (
    "intermediate_size",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "linear_num_key_heads",
    "linear_num_value_heads",
)
"""What makes up for the width: as many bytes of weights pass the caches between two launches as in the model itself."""
NARROW_CASE = ForwardCase(1, 1, 128)
BOTH = (ForwardCase(1, 1, 0), ForwardCase(1, 1, 1))
"""A model is built with every kernel that it may need: those of a prefill and those of a decode."""
Kernel = tuple[str, str, "Spec"]
"""Kind, backend and args."""


@dataclass(frozen=True)
class Trial:
    """A model and its steps.

    Attributes:
        name: For people.
        config: Its config, decoded: what Transformers builds.
        model: The same as the simulator builds it.
        options: Device, stack, and the domain that is measured.
        cases: The steps.
    """

    name: str
    config: dict[str, Any]
    model: DenseFacts | TableModel
    options: PredictOptions
    cases: tuple[ForwardCase, ...]

    @classmethod
    def of(cls, name: str, config: dict[str, Any], device: str, cases: Sequence[ForwardCase]) -> Self:
        """A trial on a device, over the domain that its cases span.

        Raises:
            ServingSimError: No case, a config that is no decoder, or one that the stack's rows do not cover.
        """
        if not cases:
            raise ServingSimError("no step to compare", hint="name a prefill or a decode")
        return cls(name, config, _model(config, name), _options(device, cases), tuple(cases))

    @property
    def dtype(self) -> str:
        """Of weights and activations."""
        return self.model.facts.dtype if isinstance(self.model, TableModel) else self.model.dtype

    @property
    def num_layers(self) -> int:
        """Layers."""
        return self.model.facts.num_layers if isinstance(self.model, TableModel) else self.model.num_layers

    def routed(self, active_experts: float) -> TableModel | DenseFacts:
        """The model with tokens going to so many experts: a fact of the run, as its lengths are."""
        if not isinstance(self.model, TableModel) or not active_experts:
            return self.model
        said = f"active_{round(active_experts)}"
        rows = tuple(
            replace(row, args={**row.args, "distribution": said}) if "distribution" in row.args else row
            for row in self.model.rows
        )
        return replace(self.model, rows=rows)

    def kernels(self, active_experts: Sequence[float]) -> list[Kernel]:
        """Every grid point that pricing the cases can ask for, each once.

        Args:
            active_experts: Of each case, 0 without experts.
        """
        return [(each.kind, each.backend, each.args) for each in self.walks(active_experts).kernels]

    def walks(self, active_experts: Sequence[float]) -> Walks:
        """The same, in the orders to time them in."""
        # Which points a grid has does not depend on how fast the device is.
        spec = DeviceSpec(self.options.device, {self.dtype: 1.0}, 1.0, 1)
        nothing = MemorySource(devices={self.options.device: spec})
        estimate = replace(self.options, on_missing="estimate")
        asked = [*zip(self.cases, active_experts, strict=True), *((case, active_experts[0]) for case in BOTH)]
        return walks_through(
            evaluate(self.routed(active), batch_of(case), nothing, estimate) for case, active in asked
        )

    def narrow(self) -> Trial:
        """The same layers over a narrower residual stream: other kernels, and the same calls between them."""
        heads, hidden_size = self.config["num_attention_heads"], self.config["hidden_size"]
        own = {"head_dim": self.config.get("head_dim") or hidden_size // heads}
        own |= {name: self.config[name] // NARROWER for name in NARROWED}
        own |= {name: self.config[name] * NARROWER for name in WIDENED if self.config.get(name)}
        return Trial.of(f"{self.name}, narrow", self.config | own, self.options.device, (NARROW_CASE,))


def batch_of(case: ForwardCase) -> Batch:
    """A forward case as the simulator's batch: its KV lengths count the new token."""
    if case.q_len == 1 and case.context_len:
        return Batch.of(decode=[case.context_len + 1] * case.batch_size)
    return Batch.of(prefill=[[case.q_len, case.context_len]] * case.batch_size)


def _model(config: dict[str, Any], where: str) -> DenseFacts | TableModel:
    if config.get("model_type") in MODEL_TYPES:
        return dense_facts(config, where=where)
    return table_model(model_facts(config, where=where), stack=STACK)


def _options(device: str, cases: Sequence[ForwardCase]) -> PredictOptions:
    """The next power of two of new tokens and requests: cases need not lie on a grid."""
    longest = max(case.context_len + case.q_len for case in cases) + CONTEXT_ROOM
    return PredictOptions(
        device=device,
        stack=stack_named(STACK),
        on_missing="refuse",
        max_num_tokens=_next_power(max(case.batch_size * case.q_len for case in cases)),
        max_num_seqs=_next_power(max(case.batch_size for case in cases)),
        max_model_len=-(-longest // CONTEXT_ROOM) * CONTEXT_ROOM,
    )


def _next_power(value: int) -> int:
    return 1 << (value - 1).bit_length()
