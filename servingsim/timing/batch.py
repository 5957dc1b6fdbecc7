"""What one scheduler iteration computes: prefill chunks and decode steps, as flat arrays.

A `Batch` is one iteration, `Batches` are many, laid end to end (compressed rows), so that compiled code
can walk them without objects. Lengths are tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from servingsim.errors import ServingSimError
from servingsim.validation import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MAX_REQUESTS = 2**13
"""Requests in one iteration: eight times what engines are configured for."""
MAX_TOKENS = 2**20
"""New tokens in one iteration (prefill budgets are 2**11 to 2**15)."""
MAX_CONTEXT = 2**24
"""Tokens of one request: the longest context on offer is about 10**7."""


class BatchRows(NamedTuple):
    """One iteration as arrays, in the form that compiled code takes (int64, bool for `samples`).

    Attributes:
        q_len: New tokens of each prefill request.
        prefix_len: Tokens of the same request that are in the KV cache already.
        samples: Whether the request's last new token is sampled (the final chunk of its prompt).
        kv_len: Keys of each decode request, its new token included.
    """

    q_len: IntArray
    prefix_len: IntArray
    samples: BoolArray
    kv_len: IntArray


@dataclass(frozen=True)
class Batch:
    """One iteration, checked. The arrays are read-only."""

    rows: BatchRows

    @classmethod
    def of(cls, prefill: Sequence[Sequence[int | bool]] = (), decode: Sequence[int] = ()) -> Batch:
        """A batch from plain lists.

        Args:
            prefill: `(q_len,)`, `(q_len, prefix_len)` or `(q_len, prefix_len, samples)` for each request;
                prefix 0 and sampling are the defaults.
            decode: KV length of each request, its new token included.

        Raises:
            ServingSimError: Nothing to compute, a length below its least or beyond its largest value, or
                more requests or tokens than one iteration can hold.
        """
        chunks = [_chunk(item, index) for index, item in enumerate(prefill)]
        kv_len = [_length(value, f"decode[{index}]", 1, MAX_CONTEXT) for index, value in enumerate(decode)]
        batch = cls(
            BatchRows(
                q_len=_frozen([chunk[0] for chunk in chunks], np.int64),
                prefix_len=_frozen([chunk[1] for chunk in chunks], np.int64),
                samples=_frozen([chunk[2] for chunk in chunks], np.bool_),
                kv_len=_frozen(kv_len, np.int64),
            )
        )
        _refuse_misfit(batch)
        return batch

    @property
    def num_requests(self) -> int:
        """Prefill and decode requests together."""
        return len(self.rows.q_len) + len(self.rows.kv_len)

    @property
    def num_tokens(self) -> int:
        """New tokens of the iteration."""
        return int(self.rows.q_len.sum()) + len(self.rows.kv_len)

    @property
    def context_tokens(self) -> int:
        """Keys of all requests after the iteration."""
        return int(sum(column.sum() for column in (self.rows.q_len, self.rows.prefix_len, self.rows.kv_len)))

    @property
    def longest_context(self) -> int:
        """Keys of the longest request after the iteration."""
        prefill = (self.rows.q_len + self.rows.prefix_len).max(initial=0)
        return int(max(prefill, self.rows.kv_len.max(initial=0)))


@dataclass(frozen=True)
class Batches:
    """Iterations end to end.

    Attributes:
        rows: The rows of all iterations.
        prefill_start: Prefill rows `prefill_start[i]:prefill_start[i+1]` belong to iteration i.
        decode_start: Likewise the decode rows.
    """

    rows: BatchRows
    prefill_start: IntArray
    decode_start: IntArray

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Batches:
        """Many batches as one set of arrays."""
        parts = [batch.rows for batch in batches]
        if not parts:
            raise ServingSimError("no iteration to price", hint="give at least one batch")
        return cls(
            rows=BatchRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True))),
            prefill_start=_starts([len(part.q_len) for part in parts]),
            decode_start=_starts([len(part.kv_len) for part in parts]),
        )

    def at(self, index: int) -> BatchRows:
        """Iteration `index`, as views."""
        prefill = slice(self.prefill_start[index], self.prefill_start[index + 1])
        decode = slice(self.decode_start[index], self.decode_start[index + 1])
        rows = self.rows
        return BatchRows(
            rows.q_len[prefill], rows.prefix_len[prefill], rows.samples[prefill], rows.kv_len[decode]
        )

    def __len__(self) -> int:
        return len(self.prefill_start) - 1


def _chunk(item: Sequence[object], index: int) -> tuple[int, int, bool]:
    where = f"prefill[{index}]"
    if not isinstance(item, list | tuple) or not 1 <= len(item) <= 3:
        raise ServingSimError(
            f"{where}: {shown(item)} is not a prefill request",
            known="[q_len], [q_len, prefix_len] or [q_len, prefix_len, samples]",
        )
    defaults: tuple[object, ...] = (0, True)
    q_len, prefix_len, samples = tuple(item) + defaults[len(item) - 1 :]
    if not isinstance(samples, bool):
        raise ServingSimError(f"{where}: samples {shown(samples)} is neither true nor false")
    new_tokens = _length(q_len, f"{where}: q_len", 1, MAX_TOKENS)
    return new_tokens, _length(prefix_len, f"{where}: prefix_len", 0, MAX_CONTEXT - new_tokens), samples


def _length(value: object, where: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ServingSimError(
            f"{where} is {shown(value)}", known=f"a whole number of tokens from {least} to {most}"
        )
    return value


def _refuse_misfit(batch: Batch) -> None:
    if batch.num_requests == 0:
        raise ServingSimError(
            "the batch is empty: it computes nothing", hint="give at least one prefill or decode request"
        )
    for count, most, what in (
        (batch.num_requests, MAX_REQUESTS, "requests"),
        (batch.num_tokens, MAX_TOKENS, "new tokens"),
    ):
        if count > most:
            raise ServingSimError(
                f"the batch has {count} {what}", code="E_LIMIT", known=f"at most {most} in one iteration"
            )


def _starts(lengths: list[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _frozen(values: list[Any], dtype: type[np.generic]) -> npt.NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.flags.writeable = False
    return array
