"""vLLM V1's scheduler once more, as plain objects and lists, one event after the other: slow, and easy to believe.

Written from the description of the policy, not from the loop: no arrays, no columns, no shared function. A block is an
object that knows what it holds; the order of free blocks, of waiting and of running requests are lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.sim_loop.worlds import KEY_TOKENS, LEAST_MS, SAMPLE_MS, TOKEN_MS, Iteration

if TYPE_CHECKING:
    from servingsim.workers.fleet import WorkerSettings
    from tests.sim_loop.worlds import Asked

Content = tuple[str, int, int]
"""What a full block holds: a shared key and which part of it, or a request's own tokens and where."""


@dataclass(eq=False)
class Block:
    """One block of the KV cache."""

    holders: int = 0
    content: Content | None = None


@dataclass(eq=False)
class Request:
    """One request on its way."""

    number: int
    asked: Asked
    tokens: int
    computed: int = 0
    preempted: int = 0
    decoding: bool = False
    blocks: list[Block] = field(default_factory=list)

    @property
    def generated(self) -> int:
        return self.tokens - self.asked.prompt

    @property
    def done(self) -> bool:
        return self.generated == self.asked.output


class Cache:
    """All blocks; free ones in the order in which they will be taken."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.size = settings.block_tokens
        self.caching = settings.prefix_caching
        self.free = [Block() for _ in range(settings.kv_blocks)]
        self.by_content: dict[Content, list[Block]] = {}

    def content(self, request: Request, place: int) -> Content:
        """What the request's block at a place holds once it is full."""
        key, part = divmod(place * self.size, KEY_TOKENS)
        if key >= len(request.asked.keys):
            return "own", request.number, place
        return "shared", request.asked.keys[key], part

    def hits(self, request: Request) -> list[Block]:
        """The cached blocks that the request begins with; its last token is computed in any case."""
        found: list[Block] = []
        while self.caching and (len(found) + 1) * self.size < request.tokens:
            content = self.content(request, len(found))
            if content not in self.by_content:
                break
            found.append(self.by_content[content][0])
        return found

    def lacking(self, request: Request, tokens: int) -> int:
        """Blocks to take so that the request holds so many tokens."""
        return max(-(-tokens // self.size) - len(request.blocks), 0)

    def hold(self, request: Request, tokens: int) -> bool:
        """Take the blocks for so many tokens, if there are enough."""
        number = self.lacking(request, tokens)
        if number > len(self.free):
            return False
        for _ in range(number):
            block = self.free.pop(0)
            self._forget(block)
            block.content, block.holders = None, 1
            request.blocks.append(block)
        return True

    def _forget(self, block: Block) -> None:
        if block.content is not None:
            same = self.by_content[block.content]
            same.remove(block)
            if not same:
                del self.by_content[block.content]

    def adopt(self, request: Request, found: list[Block]) -> None:
        for block in found:
            if block.holders == 0:
                self.free.remove(block)
            block.holders += 1
            request.blocks.append(block)

    def name_full_blocks(self, request: Request, tokens: int) -> None:
        """Full blocks among the request's first tokens can be found from now on."""
        for place in range(min(tokens, request.tokens) // self.size if self.caching else 0):
            block = request.blocks[place]
            if block.content is None:
                block.content = self.content(request, place)
                self.by_content.setdefault(block.content, []).append(block)

    def give_back(self, request: Request) -> None:
        for block in reversed(request.blocks):
            block.holders -= 1
            if block.holders == 0:
                self.free.append(block)
        request.blocks = []


class Engine:
    """One replica."""

    def __init__(self, settings: WorkerSettings) -> None:
        self.settings = settings
        self.cache = Cache(settings)
        self.waiting: list[Request] = []
        self.running: list[Request] = []

    def accepts(self, asked: Asked) -> bool:
        whole = asked.prompt + asked.output
        blocks = -(-(whole - 1) // self.settings.block_tokens)
        return whole <= self.settings.max_model_len and blocks <= self.settings.kv_blocks

    def wanted(self, request: Request) -> int:
        left = request.tokens - request.computed
        if request.decoding:
            last = request.asked.prompt + request.asked.output - 1
            return min(left + self.settings.draft_tokens, last - request.computed)
        return min(left, self.settings.long_prefill_tokens or left)

    def schedule(self) -> dict[Request, int]:
        """The next iteration: requests in their order, and new tokens of each."""
        planned: dict[Request, int] = {}
        evicted = self._schedule_running(planned)
        if evicted and not planned:
            return self.schedule()
        if not evicted:
            self._schedule_waiting(planned)
        return planned

    def _schedule_running(self, planned: dict[Request, int]) -> bool:
        evicted = False
        for request in list(self.running):
            tokens = min(self.wanted(request), self._left(planned))
            if request not in self.running or tokens <= 0:
                continue
            while not self.cache.hold(request, request.computed + tokens):
                evicted = True
                victim = max(self.running, key=lambda each: (each.asked.level, self.running.index(each)))
                self._preempt(victim)
                planned.pop(victim, None)
                if victim is request:
                    return evicted
            planned[request] = tokens
            self.cache.name_full_blocks(request, request.computed + tokens)
        return evicted

    def _schedule_waiting(self, planned: dict[Request, int]) -> None:
        settings = self.settings
        while self.waiting and len(self.running) < settings.max_seqs and self._left(planned) > 0:
            request = self.waiting[0]
            found = self.cache.hits(request)
            cached = len(found) * settings.block_tokens
            lacking = request.tokens - cached
            tokens = min(lacking, settings.long_prefill_tokens or lacking)
            if tokens > self._left(planned) and not settings.chunked_prefill:
                return
            tokens = min(tokens, self._left(planned))
            spare = (
                int(settings.watermark * settings.kv_blocks) if self.running and not request.preempted else 0
            )
            whole = request.tokens if settings.reserve_prompt else cached + tokens
            idle = sum(block.holders == 0 for block in found)
            if self.cache.lacking(request, whole) - len(found) + idle + spare > len(self.cache.free):
                return
            self.waiting.pop(0)
            self.running.append(request)
            self.cache.adopt(request, found)
            request.computed = cached
            self.cache.hold(request, cached + tokens)
            planned[request] = tokens
            self.cache.name_full_blocks(request, request.computed + tokens)

    def _left(self, planned: dict[Request, int]) -> int:
        return self.settings.token_budget - sum(planned.values())

    def _preempt(self, request: Request) -> None:
        self.running.remove(request)
        self.cache.give_back(request)
        request.computed, request.decoding = 0, False
        request.preempted += 1
        self.queue(request)

    def queue(self, request: Request) -> None:
        """By level, then by arrival."""
        self.waiting.append(request)
        self.waiting.sort(key=lambda each: (each.asked.level, each.number))

    def finish(self, planned: dict[Request, int], accepted: bool) -> None:  # noqa: FBT001 - a fact of the world
        """The iteration is over: who has computed all its tokens gets the next one, or with its drafts several."""
        for request, tokens in planned.items():
            request.computed += tokens
            if request.computed < request.tokens:
                continue
            drafts = request.computed - request.tokens
            left = request.asked.output - request.generated
            request.tokens += min(1 + (drafts if accepted else 0), left)
            request.computed = request.tokens - 1
            request.decoding = True
            if request.done:
                self.running.remove(request)
                self.cache.give_back(request)


def serve(
    numbered: list[tuple[int, Asked]], settings: WorkerSettings, *, worker: int = 0, accepted: bool = False
) -> list[Iteration]:
    """Every iteration of one replica, in order; requests come with their numbers."""
    engine, now_ms = Engine(settings), 0.0
    iterations: list[Iteration] = []
    coming = [(number, asked) for number, asked in numbered if engine.accepts(asked)]
    while True:
        while coming and coming[0][1].arrival_ms <= now_ms:
            number, asked = coming.pop(0)
            engine.queue(Request(number, asked, tokens=asked.prompt))
        planned = engine.schedule()
        if not planned:
            if not coming:
                return iterations
            now_ms = coming[0][1].arrival_ms
            continue
        end_ms = now_ms + _duration_ms(planned)
        batch = tuple((request.number, tokens) for request, tokens in planned.items())
        iterations.append(Iteration(now_ms, end_ms, worker, batch))
        engine.finish(planned, accepted)
        now_ms = end_ms


def _duration_ms(planned: dict[Request, int]) -> float:
    tokens = sum(planned.values())
    sampled = sum(
        new if request.decoding else request.computed + new >= request.tokens
        for request, new in planned.items()
    )
    return LEAST_MS + tokens * TOKEN_MS + sampled * SAMPLE_MS
