"""How far a table row's kernel has to be measured: the largest values of its Config's domain fields.

A Config says by `max_...` fields what its grid spans. A kernel with one axis spans what its slot input counts at most;
one with several axes spans the scheduler's limits by their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from servingsim.timing.slot_inputs import (
    CONTEXT_TOKENS,
    DECODE_TOKENS,
    GATHERED_TOKENS,
    POOLED_TOKENS,
    PREFILL_CONTEXT,
    PREFILL_TOKENS,
    SAMPLED_POSITIONS,
    TOTAL_TOKENS,
)

if TYPE_CHECKING:
    from servingsim.timing.contract import KernelKind
    from servingsim.timing.slot_inputs import SlotInput
    from servingsim.worklets.bounds import IterationBounds

PREFIX = "max_"


def domain(
    kind: KernelKind[Any, Any], slot_input: SlotInput, width: float, bounds: IterationBounds
) -> dict[str, int]:
    """Values of the domain fields of a kind's Config.

    Raises:
        ServingSimError: A domain field that the scheduler's limits say nothing about.
    """
    fields = [name for name in kind.config.model_fields if name.startswith(PREFIX)]
    if len(kind.axes) == 1 and len(fields) == 1:
        return {fields[0]: round(most_counted(slot_input, bounds) * width)}
    limits = {
        "max_num_tokens": bounds.max_num_tokens,
        "max_q_len": min(bounds.max_num_tokens, bounds.max_model_len),
        "max_batch_size": bounds.max_num_seqs,
        "max_kv_len": bounds.max_model_len,
        "max_kv_tokens": bounds.max_kv_tokens,
    }
    unlimited = [name for name in fields if name not in limits]
    if unlimited:
        raise ServingSimError(
            f"{kind.kind}: no limit of an iteration bounds {', '.join(unlimited)}",
            known=", ".join(limits),
            hint="name the Config's domain fields after the limits",
        )
    return {name: limits[name] for name in fields}


def most_counted(slot_input: SlotInput, bounds: IterationBounds) -> int:
    """The largest count of a slot input, before its width.

    Raises:
        ServingSimError: A member of the set that nothing here bounds.
    """
    limits = {
        TOTAL_TOKENS.name: bounds.max_num_tokens,
        POOLED_TOKENS.name: bounds.max_num_tokens,
        GATHERED_TOKENS.name: bounds.max_num_tokens,
        PREFILL_TOKENS.name: bounds.max_num_tokens,
        SAMPLED_POSITIONS.name: bounds.max_num_seqs,
        DECODE_TOKENS.name: bounds.max_num_seqs,
        CONTEXT_TOKENS.name: bounds.max_kv_tokens,
        PREFILL_CONTEXT.name: bounds.max_kv_tokens,
    }
    if slot_input.name not in limits:
        raise ServingSimError(f"slot input {slot_input.name!r} is no count", known=", ".join(limits))
    return limits[slot_input.name]
