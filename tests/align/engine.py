"""An engine of our own making: its profile and its log follow from known costs, so that a test knows the truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN, INTER, HEADS, KV_HEADS, HEAD_DIM, VOCAB, LAYERS = 256, 512, 4, 2, 64, 1024, 4
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INTER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "vocab_size": VOCAB,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
QKV = (HEADS + 2 * KV_HEADS) * HEAD_DIM
DECODE_HOST_MS, OTHER_HOST_MS, REQUEST_HOST_MS = 3.0, 5.0, 0.25
FIRST_USE = 8.0
"""How much longer the first product of a new shape takes in the captured run."""


@dataclass(frozen=True)
class Step:
    """One iteration: `(cached, new)` of prefills, cached tokens of decodes."""

    prefills: tuple[tuple[int, int], ...] = ()
    decodes: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(new for _, new in self.prefills) + len(self.decodes)

    @property
    def requests(self) -> int:
        return len(self.prefills) + len(self.decodes)


@dataclass
class Trace:
    """Events of a torch profiler on a CPU."""

    events: list[dict[str, Any]]
    at_us: float = 1000.0

    def op(self, name: str, ms: float, dims: list[list[int]], gap_us: float = 2.0) -> None:
        self.at_us += gap_us
        args = {"External id": len(self.events), "Input Dims": dims}
        common = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1}
        self.events.append({**common, "name": name, "ts": self.at_us, "dur": ms * 1e3, "args": args})
        self.at_us += ms * 1e3


def gemm_ms(m: int, n: int, k: int) -> float:
    """Bound by the weights of few rows, by products of many."""
    return max(2 * n * k / 10e6, 2 * m * n * k / 200e6)


def attention_ms(step: Step) -> float:
    pairs = sum(new * cached + new * (new + 1) / 2 for cached, new in step.prefills)
    keys = sum(cached + 1 for cached in step.decodes)
    return 0.02 + pairs * HEADS * HEAD_DIM * 4 / 100e6 + keys * KV_HEADS * HEAD_DIM * 4 / 10e6


def per_token_ms(step: Step, each_us: float) -> float:
    return 0.01 + step.tokens * each_us * 1e-3


def norm_ms(step: Step, *, compiled: bool) -> float:
    """Two plain operations over the tokens, or one that a compiler made of them."""
    return per_token_ms(step, 2.0) if compiled else 2 * per_token_ms(step, 1.0)


def layer_ops(step: Step, *, compiled: bool) -> list[tuple[str, float, list[list[int]]]]:
    """Name, time and shapes of a layer's launches; `-` is code that no profiler names."""
    m = step.tokens
    norm = (
        [("-", norm_ms(step, compiled=True), [])]
        if compiled
        else [
            ("aten::pow", per_token_ms(step, 1.0), [[m, HIDDEN]]),
            ("aten::rsqrt", 0.004, [[m, 1]]),
            ("aten::mul", per_token_ms(step, 1.0) - 0.004, [[m, HIDDEN], [m, 1]]),
        ]
    )
    return [
        *norm,
        ("_C::onednn_mm", gemm_ms(m, QKV, HIDDEN), [[m, QKV], [m, HIDDEN]]),
        ("_C::rotary_embedding", per_token_ms(step, 0.3), [[m], [m, HEADS * HEAD_DIM]]),
        ("_C::cpu_attn_reshape_and_cache", per_token_ms(step, 0.4), [[m, KV_HEADS, HEAD_DIM]]),
        ("_C::cpu_attention_with_kv_cache", attention_ms(step), [[m, HEADS, HEAD_DIM]]),
        ("_C::onednn_mm", gemm_ms(m, HIDDEN, HEADS * HEAD_DIM), [[m, HIDDEN], [m, HEADS * HEAD_DIM]]),
        *norm,
        ("_C::onednn_mm", gemm_ms(m, 2 * INTER, HIDDEN), [[m, 2 * INTER], [m, HIDDEN]]),
        ("aten::silu", per_token_ms(step, 1.5), [[m, INTER]]),
        ("_C::onednn_mm", gemm_ms(m, HIDDEN, INTER), [[m, HIDDEN], [m, INTER]]),
    ]


def kernels_ms(step: Step, *, compiled: bool = False) -> float:
    """All launches of a step."""
    layer = sum(ms for _, ms, _ in layer_ops(step, compiled=compiled))
    return (
        per_token_ms(step, 0.1)
        + LAYERS * layer
        + per_token_ms(step, 2.0)
        + gemm_ms(step.requests, VOCAB, HIDDEN)
    )


def host_ms(step: Step) -> float:
    """What is neither kernel nor between kernels."""
    return (OTHER_HOST_MS if step.prefills else DECODE_HOST_MS) + REQUEST_HOST_MS * step.requests


@dataclass(frozen=True)
class Times:
    """What a run takes beside the captured one: the whole of it, and its kernels alone."""

    whole: float
    kernels: float
    compiled: bool = False

    def step_ms(self, step: Step) -> float:
        """What the engine's caller sees."""
        return self.whole * (self.kernels * kernels_ms(step, compiled=self.compiled) + host_ms(step))


def write_capture(path: Path, steps: list[Step], *, compiled: bool = False) -> None:
    """A torch profiler trace of the steps."""
    trace, seen = Trace([]), set[int]()
    for step in steps:
        trace.at_us += host_ms(step) * 1e3
        begin_us = trace.at_us
        first = FIRST_USE if step.tokens not in seen else 1.0
        seen.add(step.tokens)
        _forward(trace, step, first, compiled=compiled)
        context, decodes = len(step.prefills), len(step.decodes)
        new = step.tokens - decodes
        trace.events.append(
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"execute_context_{context}({new})_generation_{decodes}({decodes})",
                "pid": 1,
                "tid": 1,
                "ts": begin_us,
                "dur": trace.at_us + 5 - begin_us,
            }
        )
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": trace.events}), "utf-8")


def _forward(trace: Trace, step: Step, first: float, *, compiled: bool) -> None:
    m = step.tokens
    trace.op("aten::embedding", per_token_ms(step, 0.1), [[VOCAB, HIDDEN], [m]])
    for layer in range(LAYERS):
        for name, ms, dims in layer_ops(step, compiled=compiled):
            if name == "-":
                trace.at_us += ms * 1e3
                continue
            slow = first if name == "_C::onednn_mm" and layer == 0 else 1.0
            trace.op(name, ms * slow, dims)
    if compiled:
        trace.at_us += per_token_ms(step, 2.0) * 1e3
    else:
        trace.op("aten::pow", per_token_ms(step, 1.0), [[m, HIDDEN]])
        trace.op("aten::mul", per_token_ms(step, 1.0), [[m, HIDDEN], [m, 1]])
    trace.op(
        "_C::onednn_mm",
        gemm_ms(step.requests, VOCAB, HIDDEN),
        [[step.requests, VOCAB], [step.requests, HIDDEN]],
    )


def write_log(
    path: Path,
    runs: int = 3,
    *,
    captured: list[Step] | None = None,
    compiled: bool = False,
    prompts: tuple[int, ...] = (64, 200, 96, 150),
    outputs: int = 12,
    speed: float = 1.0,
    slow_kernels: float = 1.0,
) -> None:
    """A log of runs of the same requests, all there at the begin, batched as vLLM does."""
    header = {"kind": "header", "engine": "made up 1.0", "model": "tiny", "max_num_batched_tokens": 256}
    lines: list[dict[str, Any]] = [{**header, "max_num_seqs": 8}]
    for rep in range(runs):
        times = Times(1.0 if rep == 0 else speed, slow_kernels, compiled=compiled)
        lines += _run(rep, prompts, outputs, times)
    for index, step in enumerate(captured or []):
        lines.append(
            {
                "kind": "iter",
                "rep": "captured",
                "i": index,
                "t0": float(index),
                "step_ms": 1.0,
                "ctx": [list(each) for each in step.prefills],
                "gen": list(step.decodes),
            }
        )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def _run(rep: int, prompts: tuple[int, ...], outputs: int, times: Times) -> list[dict[str, Any]]:
    computed, tokens_s = [0] * len(prompts), [list[float]() for _ in prompts]
    now_s, lines = 0.0, list[dict[str, Any]]()
    while any(len(each) < outputs for each in tokens_s):
        budget, chunks, decodes, mine = 256, [], [], []
        for index, prompt in enumerate(prompts):
            if computed[index] >= prompt and len(tokens_s[index]) < outputs:
                decodes.append(computed[index])
                mine.append((index, 1))
                budget -= 1
        for index, prompt in enumerate(prompts):
            if computed[index] < prompt and budget:
                new = min(prompt - computed[index], budget)
                chunks.append((computed[index], new))
                mine.append((index, new))
                budget -= new
        spent_ms = times.step_ms(Step(tuple(chunks), tuple(decodes)))
        shape = {"ctx": [list(each) for each in chunks], "gen": decodes}
        lines.append({"kind": "iter", "rep": rep, "i": len(lines), "t0": now_s, "step_ms": spent_ms, **shape})
        now_s += spent_ms * 1e-3
        for index, new in mine:
            computed[index] += new
            if computed[index] >= prompts[index]:
                tokens_s[index].append(now_s)
    for index, prompt in enumerate(prompts):
        lines.append(
            {
                "kind": "req",
                "rep": rep,
                "id": f"{rep}-{index}",
                "plen": prompt,
                "sub": 0.0,
                "tok": tokens_s[index],
            }
        )
    return lines


SWEEP = [
    *(Step(((0, new),)) for new in (16, 32, 64, 128, 256)),
    *(Step((), (100,) * count) for count in (1, 2, 4, 8)),
    Step(((128, 128),), (64, 64)),
]
"""Sizes that a recording shows the profiler."""
