"""Workers before the first event, from what a deployment says about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servingsim.workers.policies import POLICIES
from servingsim.workers.state import (
    AHEAD,
    BLOCK_COLUMNS,
    BLOCK_TOKENS,
    CHUNKED,
    DRAFT_TOKENS,
    FREE_BLOCKS,
    FREE_HEAD,
    FREE_SLOTS,
    FREE_TAIL,
    KEY,
    KEY_BLOCKS,
    LONG_PREFILL,
    MAX_LEVELS,
    MAX_MODEL_LEN,
    MAX_SEQS,
    MIXED_CHUNKS,
    NEXT_FREE,
    NONE,
    POLICY,
    POOL,
    PREFIX_CACHE,
    PREVIOUS_FREE,
    REFERENCES,
    RESERVE_PROMPT,
    STAGES,
    TOKEN_BUDGET,
    TOTAL_BLOCKS,
    WATERMARK_BLOCKS,
    WORKER_COLUMNS,
    Workers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class WorkerSettings:
    """How one worker batches and what it can hold; tokens and blocks.

    Attributes:
        policy: A name in `POLICIES`.
        token_budget: New tokens of an iteration (vLLM's max_num_batched_tokens, SGLang's chunked_prefill_size).
        max_seqs: Requests that run at once.
        kv_blocks: Blocks of the KV cache.
        block_tokens: Tokens of a block.
        max_model_len: Tokens of the longest request, prompt and output.
        watermark: Share of the blocks that a first admission leaves free.
        chunked_prefill: Whether a prompt may be cut to the budget (vLLM).
        prefix_caching: Whether blocks are reused by content.
        long_prefill_tokens: Most new tokens of one prefill in an iteration; 0: no limit of its own (vLLM).
        draft_tokens: Tokens that speculation proposes for each decode step.
        stages: Pipeline stages, and so iterations under way at once.
        reserve_prompt: Admit only where the whole prompt fits, not just its first chunk (vLLM).
        mixed_chunks: Decode beside prefill chunks (SGLang).
        async_scheduling: Each iteration is planned while the one before it runs (vLLM).
    """

    policy: str = "vllm"
    token_budget: int = 2048
    max_seqs: int = 256
    kv_blocks: int = 8192
    block_tokens: int = 16
    max_model_len: int = 131072
    watermark: float = 0.0
    chunked_prefill: bool = True
    prefix_caching: bool = False
    long_prefill_tokens: int = 0
    draft_tokens: int = 0
    stages: int = 1
    reserve_prompt: bool = False
    mixed_chunks: bool = False
    async_scheduling: bool = False


def most_tokens(settings: WorkerSettings) -> int:
    """New tokens of the largest iteration: only vLLM's policy holds decode steps to the token budget."""
    decodes = settings.max_seqs * (1 + settings.draft_tokens)
    if settings.policy == "vllm":
        return settings.token_budget
    if settings.policy == "sarathi":
        return max(settings.token_budget, settings.max_seqs)
    if settings.policy == "sglang" and settings.mixed_chunks:
        return settings.token_budget + decodes
    longest = settings.max_model_len if settings.policy == "prefill_first" else 0
    return max(settings.token_budget, decodes, longest)


def new_workers(
    settings: Sequence[WorkerSettings],
    pools: Sequence[int],
    num_requests: int,
    key_tokens: int = 0,
    *,
    sends: bool = False,
) -> Workers:
    """Idle workers.

    Args:
        settings: One for each worker.
        pools: The pool of each.
        num_requests: Requests of the workload.
        key_tokens: Tokens that one prefix key of the workload stands for; 0 where it has none.
        sends: Whether caches are sent to another pool: until they are there they keep their places in the block table.
    """
    count, most = len(settings), max(each.max_seqs for each in settings)
    # Without keys a request still finds its own blocks again after a preemption, as in vLLM.
    caching = any(each.prefix_caching for each in settings)
    most_blocks = max(each.kv_blocks for each in settings) if caching else 0
    slots = most * (2 if sends else 1) if caching else 0
    longest = max(-(-each.max_model_len // each.block_tokens) for each in settings) if caching else 0
    workers = Workers(
        ints=np.zeros((count, WORKER_COLUMNS), dtype=np.int64),
        running=np.full((count, most), NONE, dtype=np.int32),
        queues=np.full((count, MAX_LEVELS, 2), NONE, dtype=np.int32),
        plan=np.zeros((most, 3), dtype=np.int32),
        table=np.zeros((count, slots, min(longest, most_blocks) + 1), dtype=np.int32),
        slot=np.full(num_requests if caching else 0, NONE, dtype=np.int32),
        blocks=np.full((count, most_blocks, BLOCK_COLUMNS), NONE, dtype=np.int64),
        cached=np.full((count, _power_of_two(2 * most_blocks), 2), NONE, dtype=np.int64),
    )
    if caching:
        workers.table[:, :, -1] = np.arange(slots)
        workers.ints[:, FREE_SLOTS] = slots
    for worker, (each, pool) in enumerate(zip(settings, pools, strict=True)):
        _set(workers, worker, each, pool, key_tokens if caching else 0)
    return workers


def _set(workers: Workers, worker: int, settings: WorkerSettings, pool: int, key_tokens: int) -> None:
    row = workers.ints[worker]
    row[POLICY], row[POOL], row[STAGES] = POLICIES.index(settings.policy), pool, settings.stages
    row[TOKEN_BUDGET], row[MAX_SEQS] = settings.token_budget, settings.max_seqs
    row[BLOCK_TOKENS], row[TOTAL_BLOCKS], row[FREE_BLOCKS] = (
        settings.block_tokens,
        settings.kv_blocks,
        settings.kv_blocks,
    )
    row[WATERMARK_BLOCKS] = int(settings.watermark * settings.kv_blocks)
    row[CHUNKED], row[LONG_PREFILL] = settings.chunked_prefill, settings.long_prefill_tokens
    row[MAX_MODEL_LEN], row[DRAFT_TOKENS] = settings.max_model_len, settings.draft_tokens
    row[RESERVE_PROMPT], row[MIXED_CHUNKS] = settings.reserve_prompt, settings.mixed_chunks
    row[AHEAD] = settings.async_scheduling
    row[FREE_HEAD] = row[FREE_TAIL] = NONE
    if settings.prefix_caching:
        row[PREFIX_CACHE], row[KEY_BLOCKS] = 1, key_tokens // settings.block_tokens
        blocks, numbers = workers.blocks[worker], np.arange(settings.kv_blocks)
        blocks[numbers, REFERENCES] = 0
        blocks[numbers, KEY] = NONE
        blocks[numbers, PREVIOUS_FREE], blocks[numbers, NEXT_FREE] = numbers - 1, numbers + 1
        blocks[settings.kv_blocks - 1, NEXT_FREE] = NONE
        row[FREE_HEAD], row[FREE_TAIL] = 0, settings.kv_blocks - 1


def _power_of_two(value: int) -> int:
    return 1 << max(value - 1, 0).bit_length() if value else 0
