"""Operands of gated recurrences: tokens of the compute dtype, decays below one, states in fp32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from profiling.backends import rotation
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from profiling.backends.tensors import Tensors
    from profiling.contract import Dtype, Setting

FP32_BYTES = 4
WIDE_TEMPORARIES = 14
"""fp32 tensors as large as the tokens of all heads that a launch by chunks holds at once, at most."""


class Operands(NamedTuple):
    """One copy, in the order that `recurrence` takes them; `beta` only for the delta rule."""

    query: Tensor
    key: Tensor
    value: Tensor
    log_decay: Tensor
    state: Tensor
    beta: Tensor | None


@dataclass(frozen=True)
class Recurrence:
    """Sizes of one launch.

    Attributes:
        batch_size: Requests.
        tokens: Of each.
        key_heads: Heads of queries and keys.
        heads: Heads of values, each with a state.
        key: Elements of a query and key head.
        value: Elements of a value head.
        delta: With the step widths of the delta rule.
        chunk: Tokens of a chunk: those of each request are filled up to a multiple, and each has a row of a chunk's
            triangle.
    """

    batch_size: int
    tokens: int
    key_heads: int
    heads: int
    key: int
    value: int
    delta: bool
    chunk: int = 1

    def copies(self, setting: Setting, dtype: Dtype) -> int:
        """How many copies of the operands to rotate through."""
        tokens = self.batch_size * self.tokens
        row = 2 * self.key_heads * self.key + self.heads * self.value
        state_bytes = self.batch_size * self.heads * self.key * self.value * FP32_BYTES
        filled = self.batch_size * -(-self.tokens // self.chunk) * self.chunk
        wide = filled * self.heads * max(self.key, self.value, self.chunk) * FP32_BYTES
        return rotation.copies(
            setting,
            operand_bytes=tokens * (row * dtype_bytes(dtype) + 2 * self.heads * FP32_BYTES) + state_bytes,
            result_bytes=WIDE_TEMPORARIES * wide + 2 * state_bytes,
        )

    def operands(self, tensors: Tensors, count: int) -> Iterator[Operands]:
        """So many copies."""
        tokens = (self.batch_size, self.tokens)
        query, key = (tensors.copies(count, *tokens, self.key_heads, self.key) for _ in range(2))
        value = tensors.copies(count, *tokens, self.heads, self.value)
        for copy in range(count):
            with tensors.torch.inference_mode():
                # Keys of unit length, as after their norm: with the delta rule longer ones diverge.
                unit = tensors.torch.nn.functional.normalize(key[copy].float(), dim=-1).to(tensors.dtype)
                noise = tensors.torch.randn(2, *tokens, self.heads, device=tensors.device)
                state = tensors.torch.zeros(
                    self.batch_size, self.heads, self.key, self.value, device=tensors.device
                )
                log_decay = tensors.torch.nn.functional.logsigmoid(noise[0] + 3)
                beta = noise[1].sigmoid() if self.delta else None
            yield Operands(query[copy], unit, value[copy], log_decay, state, beta)
