"""The closed set of slot inputs: how a batch becomes the coordinates at which a leaf's kernel is asked.

Each is one small function on flat integer arrays. `Op.eval` calls it as it stands and a compiled loop
calls the same function compiled (`dispatcher`), so there is no second copy of the arithmetic. A new leaf
input joins `SLOT_INPUTS`, nothing else.

Every function has one signature: the batch's rows, a `width`, and two outputs that it fills, `coords`
[calls, axes] and `weights` [calls]; it returns the number of calls, 0 where nothing is launched. A slot's
time is the weighted sum of its kernel's times at the coordinates: a fan-out over requests collapses into
one slot (INV-1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from servingsim.timing.batch import Batches, BatchRows, IntArray
    from servingsim.timing.source import FloatArray

Fill = Callable[..., int]


@dataclass(frozen=True)
class SlotInput:
    """One member of the set.

    Attributes:
        name: As reports and describe texts name it.
        axes: What the coordinates mean, in order; `("count",)` fits any kernel with one axis.
        calls: Most calls for one batch: one, three, or one for each prefill request.
        fill: The function.
    """

    name: str
    axes: tuple[str, ...]
    calls: Literal["one", "three", "prefill"]
    fill: Fill


@dataclass(frozen=True)
class SlotCoords:
    """Where a leaf's kernel is asked, over many iterations.

    Attributes:
        coords: Shape [points, axes].
        weights: Share of the kernel's time that a point costs, shape [points].
        iteration: The iteration that a point belongs to, shape [points].
        iterations: How many iterations there are (some may have no point).
        slot_input: What made the coordinates.
        width: What it multiplied its count by.
    """

    coords: FloatArray
    weights: FloatArray
    iteration: IntArray
    iterations: int
    slot_input: SlotInput
    width: float


def total_tokens(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """New tokens times `width`: rows of a GEMM (1) or a per-head norm (heads), bytes of a message."""
    coords[0, 0] = (rows.q_len.sum() + len(rows.kv_len)) * width
    weights[0] = 1.0
    return 1


def pooled_tokens(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """New tokens times `width` of replicas whose experts lie together, each with a batch like this one.

    A serving loop knows the batches of all and asks with the tokens of a mean one.
    """
    coords[0, 0] = (rows.q_len.sum() + len(rows.kv_len)) * width
    weights[0] = 1.0
    return 1


def gathered_tokens(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """New tokens times `width` of a replica that gives them to those that share its experts, all batches being alike.

    A serving loop knows the batches of all and asks with those that make the same link as busy.
    """
    coords[0, 0] = (rows.q_len.sum() + len(rows.kv_len)) * width
    weights[0] = 1.0
    return 1


def sampled_positions(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """Positions whose next token is sampled, times `width`: every decode request and final prefill chunks."""
    positions = rows.samples.sum() + len(rows.kv_len)
    coords[0, 0] = positions * width
    weights[0] = 1.0
    return 1 if positions > 0 else 0


def context_tokens(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """Keys of all requests after the iteration, times `width`: what a cache that is copied to grow moves."""
    coords[0, 0] = (rows.q_len.sum() + rows.prefix_len.sum() + rows.kv_len.sum()) * width
    weights[0] = 1.0
    return 1


def prefill_requests(rows: BatchRows, _width: float, coords: FloatArray, weights: FloatArray) -> int:
    """`(batch_size, q_len, prefix_len)` for each of B prefill requests, each with weight 1/B.

    One variable-length launch serves all of them; a request costs its share of a launch of B like itself.
    Exact for a homogeneous batch (with equal requests the weights add up to one launch).
    """
    requests = len(rows.q_len)
    for index in range(requests):
        coords[index, 0] = requests
        coords[index, 1] = rows.q_len[index]
        coords[index, 2] = rows.prefix_len[index]
        weights[index] = 1.0 / requests
    return requests


def prefill_lengths(rows: BatchRows, _width: float, coords: FloatArray, weights: FloatArray) -> int:
    """`(batch_size, q_len)` for each of B prefill requests, each with weight 1/B, as `prefill_requests`.

    For layers whose state has one size however many tokens came before.
    """
    requests = len(rows.q_len)
    for index in range(requests):
        coords[index, 0] = requests
        coords[index, 1] = rows.q_len[index]
        weights[index] = 1.0 / requests
    return requests


def prefill_tokens(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """New tokens of prefill requests times `width`: what only prompts pass, none in a decode step."""
    tokens = rows.q_len.sum()
    coords[0, 0] = tokens * width
    weights[0] = 1.0
    return 1 if tokens > 0 else 0


def prefill_context(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """Keys of the prefill requests after the iteration, times `width`: latents that are expanded for them."""
    keys = rows.q_len.sum() + rows.prefix_len.sum()
    coords[0, 0] = keys * width
    weights[0] = 1.0
    return 1 if keys > 0 else 0


def decode_tokens(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """Decode requests (a token each) times `width`: a step over states, products that absorb an expansion."""
    requests = len(rows.kv_len)
    coords[0, 0] = requests * width
    weights[0] = 1.0
    return 1 if requests > 0 else 0


def decode_requests(rows: BatchRows, _width: float, coords: FloatArray, weights: FloatArray) -> int:
    """`(batch_size, mean kv_len)` of the decode requests: the bytes read are linear in the sum of lengths."""
    requests = len(rows.kv_len)
    if requests == 0:
        return 0
    coords[0, 0] = requests
    coords[0, 1] = rows.kv_len.sum() / requests
    weights[0] = 1.0
    return 1


def decode_queries(rows: BatchRows, _width: float, coords: FloatArray, weights: FloatArray) -> int:
    """`(batch_size, 1, mean prefix_len)` of the decode requests: a step run by a kernel of prefills, one query each.

    Exact for equal lengths, and for the bytes of any, which are linear in the sum of lengths.
    """
    requests = len(rows.kv_len)
    if requests == 0:
        return 0
    coords[0, 0] = requests
    coords[0, 1] = 1
    coords[0, 2] = rows.kv_len.sum() / requests - 1
    weights[0] = 1.0
    return 1


WHOLE, LATE, FADES = 0.8, 0.13, 1.5
"""Decodes alone. `WHOLE`: share of the device from which on a request's keys are not split; FlashAttention 2's own
(csrc/flash_attn/flash_api.cpp, `num_splits_heuristic`). `LATE`, `FADES`: how far the launch then is from the time at
the mean length to that at the longest where requests just fill the device, and how fast that fades with more of them:
fitted to LLMServingSim's profiles of unequal lengths (skew_fit.csv, lengths spread over 5 to 70 % of their range) of
Llama-3.1-8B on RTX 4090 and RTX PRO 6000 and of Qwen3-30B-A3B, 89 % of their squares; one by one they ask for 0.15,
0.09 and 0.08."""


def mixed_requests(rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
    """`(q_len, prefix_len, num_decodes, mean kv_len)`: all prefill chunks as one, all decodes at their mean length.

    Several chunks become one with as many new tokens and as many query-key pairs. Where even without a prefix one
    chunk of all tokens would have more pairs (several fresh prompts), it has as many pairs and fewer tokens.

    Decodes of unequal length: where a kernel gives a request's keys to one block that reads them one after the other,
    the launch ends when the longest is read. Beside a chunk keys are never split: beyond the mean that is what one
    request of the longest length takes longer than one of the mean length, both as measured beside the shortest chunk.
    Decodes alone are split where they are few; `width` requests fill the device (two blocks a multiprocessor, a block
    for each KV head; 0: unknown), and the more there are, the earlier the longest one is begun before the end.
    """
    tokens, pairs = 0.0, 0.0
    for index in range(len(rows.q_len)):
        new = float(rows.q_len[index])
        tokens += new
        pairs += new * rows.prefix_len[index] + new * (new + 1.0) * 0.5
    decodes = len(rows.kv_len)
    fresh = tokens * (tokens + 1.0) * 0.5
    coords[0, 0] = tokens if pairs >= fresh else (math.sqrt(1.0 + 8.0 * pairs) - 1.0) * 0.5
    coords[0, 1] = (pairs - fresh) / tokens if pairs > fresh else 0.0
    coords[0, 2] = decodes
    mean = rows.kv_len.sum() / decodes if decodes > 0 else 0.0
    coords[0, 3] = mean
    weights[0] = 1.0
    longest = rows.kv_len.max() if decodes > 0 else 0
    if longest <= mean:
        return 1
    if tokens == 0.0:
        if width == 0.0 or decodes < WHOLE * width:
            return 1
        late = LATE * (width / decodes) ** FADES
        coords[1, 0], coords[1, 1], coords[1, 2], coords[1, 3] = 0.0, 0.0, decodes, longest
        weights[0], weights[1] = 1.0 - late, late
        return 2
    for index in range(1, 3):
        coords[index, 0], coords[index, 1], coords[index, 2] = 1.0, 0.0, 1.0
    coords[1, 3], coords[2, 3] = longest, mean
    weights[1], weights[2] = 1.0, -1.0
    return 3


COUNT = ("count",)
TOTAL_TOKENS = SlotInput("total_tokens", COUNT, "one", total_tokens)
POOLED_TOKENS = SlotInput("pooled_tokens", COUNT, "one", pooled_tokens)
GATHERED_TOKENS = SlotInput("gathered_tokens", COUNT, "one", gathered_tokens)
SAMPLED_POSITIONS = SlotInput("sampled_positions", COUNT, "one", sampled_positions)
CONTEXT_TOKENS = SlotInput("context_tokens", COUNT, "one", context_tokens)
PREFILL_REQUESTS = SlotInput(
    "prefill_requests", ("batch_size", "q_len", "prefix_len"), "prefill", prefill_requests
)
PREFILL_LENGTHS = SlotInput("prefill_lengths", ("batch_size", "q_len"), "prefill", prefill_lengths)
PREFILL_TOKENS = SlotInput("prefill_tokens", COUNT, "one", prefill_tokens)
PREFILL_CONTEXT = SlotInput("prefill_context", COUNT, "one", prefill_context)
DECODE_TOKENS = SlotInput("decode_tokens", COUNT, "one", decode_tokens)
DECODE_REQUESTS = SlotInput("decode_requests", ("batch_size", "kv_len"), "one", decode_requests)
DECODE_QUERIES = SlotInput("decode_queries", ("batch_size", "q_len", "prefix_len"), "one", decode_queries)
MIXED_REQUESTS = SlotInput(
    "mixed_requests", ("q_len", "prefix_len", "num_decodes", "kv_len"), "three", mixed_requests
)

SLOT_INPUTS = (
    TOTAL_TOKENS,
    SAMPLED_POSITIONS,
    CONTEXT_TOKENS,
    PREFILL_REQUESTS,
    PREFILL_LENGTHS,
    PREFILL_TOKENS,
    PREFILL_CONTEXT,
    DECODE_TOKENS,
    DECODE_REQUESTS,
    DECODE_QUERIES,
    MIXED_REQUESTS,
    POOLED_TOKENS,
    GATHERED_TOKENS,
)
"""The closed set; a member's index is its code in compiled loops."""


def coordinates(slot_input: SlotInput, batches: Batches, width: float = 1.0) -> SlotCoords:
    """Ask one slot input about every iteration."""
    each = {"one": 1, "three": 3, "prefill": 0}[slot_input.calls]
    most = each * len(batches) or len(batches.rows.q_len)
    # One row more than can be used: an iteration without a call still gets a place to write to.
    coords, weights = np.zeros((most + 1, len(slot_input.axes))), np.zeros(most + 1)
    calls, filled = np.zeros(len(batches), dtype=np.int64), 0
    for index in range(len(batches)):
        calls[index] = slot_input.fill(batches.at(index), width, coords[filled:], weights[filled:])
        filled += int(calls[index])
    owner = np.repeat(np.arange(len(batches)), calls)
    return SlotCoords(coords[:filled], weights[:filled], owner, len(batches), slot_input, width)


def code_of(slot_input: SlotInput) -> int:
    """Code of a member in compiled loops; refuses what is not in the set."""
    for code, member in enumerate(SLOT_INPUTS):
        if member is slot_input:
            return code
    raise ServingSimError(
        f"slot input {slot_input.name!r} is not in the closed set",
        known=", ".join(member.name for member in SLOT_INPUTS),
        hint="a new leaf input joins SLOT_INPUTS",
    )


def dispatcher(jit: Callable[[Any], Any]) -> Fill:
    """One function `(code, rows, width, coords, weights)` over the whole set, for loops that hold codes.

    Args:
        jit: What to build it with: `numba.njit`, or the identity for the readable reference.
    """
    fill = jit(SLOT_INPUTS[-1].fill)
    chain = jit(lambda _code, rows, width, coords, weights: fill(rows, width, coords, weights))
    for code in range(len(SLOT_INPUTS) - 2, -1, -1):
        chain = _link(jit, code, SLOT_INPUTS[code].fill, chain)
    return chain  # type: ignore[no-any-return]


def _link(jit: Callable[[Any], Any], mine: int, member: Fill, rest: Fill) -> Any:  # noqa: ANN401 - numba's type
    own = jit(member)

    def fill(code: int, rows: BatchRows, width: float, coords: FloatArray, weights: FloatArray) -> int:
        if code == mine:
            return own(rows, width, coords, weights)  # type: ignore[no-any-return]
        return rest(code, rows, width, coords, weights)

    return jit(fill)
