"""Runs vLLM's engine in this process, step by step: writes an iteration log and a torch profiler trace of one run.

Executed by path under the Python that has vLLM (`servingsim capture record --python ...`), so it imports nothing of
ServingSim. Its one argument is the path of a JSON object: `model` (folder of a config.json), `name`, `out`, `requests`
= [[prompt, output, arrival_s] ...], `captured` = waves of requests, each begun when the one before is done, `runs`,
`warm_ups`, `profiler` (`torch` or `cuda`), `threads` (0: vLLM's own) and `engine` (arguments of vLLM's `EngineArgs`).

Everything is run once without being logged, so that nothing is prepared for the first time later; then the waves
under the profiler (logged as `captured`), then the runs that count.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import IO, Any

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

TOKEN_LIMIT = 1000
"""Prompt tokens are drawn below it: every vocabulary has them."""
PARTS = {"sched": "schedule", "update": "update_from_output"}
STEP_PARTS = {"exec": "execute_model", "sample": "sample_tokens"}


class StepWatch:
    """What the engine's scheduler and executor did in the step at hand."""

    def __init__(self, core: Any) -> None:  # noqa: ANN401 - vLLM's own
        self.scheduler = core.scheduler
        self.scheduled: Any = None
        self.before: dict[str, tuple[int, int]] = {}
        self.parts_ms: dict[str, float] = {}
        for owner, names in ((core.scheduler, PARTS), (core.model_executor, STEP_PARTS)):
            for part, name in names.items():
                if hasattr(owner, name):
                    setattr(owner, name, self._timed(part, getattr(owner, name)))

    def _timed(self, part: str, call: Any) -> Any:  # noqa: ANN401 - any function
        def timed(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - as called
            if part == "sched":
                # A request that ends in this step is forgotten before the step returns.
                self.before = {
                    name: (each.num_computed_tokens, each.num_prompt_tokens)
                    for name, each in self.scheduler.requests.items()
                }
            begin_s = time.perf_counter()
            result = call(*args, **keywords)
            self.parts_ms[part] = self.parts_ms.get(part, 0.0) + (time.perf_counter() - begin_s) * 1e3
            if part == "sched":
                self.scheduled = result
            return result

        return timed

    def begin(self) -> None:
        """Forget the step before."""
        self.scheduled, self.parts_ms = None, {}

    def batch(self) -> tuple[list[list[int]], list[int]]:
        """`ctx` and `gen` of the step: [computed, new] of prefills, computed of decodes."""
        chunks, decodes = [], []
        for name, new in (self.scheduled.num_scheduled_tokens if self.scheduled else {}).items():
            computed, prompt = self.before[name]
            if computed < prompt:
                chunks.append([computed, new])
            else:
                decodes.append(computed)
        return chunks, decodes


class Recorder:
    """Runs requests through an engine and writes what each step and each request took."""

    def __init__(self, engine: Any, sampling: Any) -> None:  # noqa: ANN401 - vLLM's own
        self.engine, self.sampling = engine, sampling
        self.watch = StepWatch(engine.engine_core.engine_core)

    def serve(self, requests: list[list[float]], rep: int | str, log: IO[str]) -> None:
        """One run: submit by the clock, step until everything is done."""
        tokens: dict[str, list[float]] = {}
        submitted: dict[str, float] = {}
        lines: list[dict[str, Any]] = []
        waiting, begin_s = list(enumerate(requests)), time.perf_counter()
        while waiting or self.engine.has_unfinished_requests():
            while waiting and waiting[0][1][2] <= time.perf_counter() - begin_s:
                index, (prompt, output, _) = waiting.pop(0)
                name = f"{rep}-{index}"
                submitted[name], tokens[name] = time.perf_counter() - begin_s, []
                self._submit(name, int(prompt), int(output), index)
            if self.engine.has_unfinished_requests():
                lines += self._step(rep, begin_s, tokens)
            else:
                time.sleep(max(waiting[0][1][2] - (time.perf_counter() - begin_s), 0.0))
        steps = [{**line, "i": number} for number, line in enumerate(lines)]
        for index, (prompt, _, arrival) in enumerate(requests):
            name = f"{rep}-{index}"
            asked = {"kind": "req", "rep": rep, "id": name, "plen": int(prompt), "arr": arrival}
            steps.append({**asked, "sub": submitted[name], "tok": tokens[name]})
        log.writelines(json.dumps(line) + "\n" for line in steps)

    def _submit(self, name: str, prompt: int, output: int, index: int) -> None:
        ids = [(7919 * place + index) % TOKEN_LIMIT + 1 for place in range(prompt)]
        wanted = self.sampling(temperature=0.0, max_tokens=output, ignore_eos=True, detokenize=False)
        self.engine.add_request(name, {"prompt_token_ids": ids}, wanted)

    def _step(self, rep: int | str, begin_s: float, tokens: dict[str, list[float]]) -> list[dict[str, Any]]:
        """One step of the engine; no line where it computed nothing."""
        self.watch.begin()
        step_s = time.perf_counter()
        outputs = self.engine.step()
        end_s = time.perf_counter()
        for output in outputs:
            seen, mine = len(output.outputs[0].token_ids), tokens[output.request_id]
            mine += [end_s - begin_s] * (seen - len(mine))
        chunks, decodes = self.watch.batch()
        if not chunks and not decodes:
            return []
        parts = {f"{part}_ms": spent for part, spent in self.watch.parts_ms.items()}
        times = {"t0": step_s - begin_s, "step_ms": (end_s - step_s) * 1e3, **parts}
        return [{"kind": "iter", "rep": rep, **times, "ctx": chunks, "gen": decodes}]


def main() -> None:
    """Record what the one argument asks for."""
    asked = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    out = Path(asked["out"])
    torch, vllm, engines = map(importlib.import_module, ("torch", "vllm", "vllm.v1.engine.llm_engine"))
    if asked["threads"]:
        torch.set_num_threads(asked["threads"])
    begin_s = time.perf_counter()
    arguments = vllm.EngineArgs(
        model=asked["model"],
        load_format="dummy",
        skip_tokenizer_init=True,
        profiler_config=_profiler(asked["profiler"], out / "traces"),
        enable_prefix_caching=False,
        disable_log_stats=True,
        **asked["engine"],
    )
    engine = engines.LLMEngine.from_engine_args(arguments)
    limits = engine.engine_core.engine_core.scheduler.scheduler_config
    header = {
        "kind": "header",
        "engine": f"vllm {vllm.__version__}",
        "torch": torch.__version__,
        "model": asked["name"],
        "max_num_batched_tokens": limits.max_num_batched_tokens,
        "max_num_seqs": limits.max_num_seqs,
        "init_s": time.perf_counter() - begin_s,
        "opt": {**asked["engine"], "threads": torch.get_num_threads()},
    }
    recorder = Recorder(engine, vllm.SamplingParams)
    with (out / "iterations.jsonl").open("w", encoding="utf-8") as log:
        log.write(json.dumps(header) + "\n")
        _record(recorder, asked, log)


def _record(recorder: Recorder, asked: dict[str, Any], log: IO[str]) -> None:
    for warm_up in range(asked["warm_ups"]):
        for requests in (*asked["captured"], asked["requests"]):
            recorder.serve(requests, f"warm{warm_up}", io.StringIO())
    recorder.engine.start_profile()
    for requests in asked["captured"]:
        recorder.serve(requests, "captured", log)
    recorder.engine.stop_profile()
    for rep in range(asked["runs"]):
        recorder.serve(asked["requests"], rep, log)
        log.flush()


def _profiler(kind: str, traces: Path) -> dict[str, Any]:
    if kind != "torch":
        return {"profiler": kind}
    return {
        "profiler": kind,
        "torch_profiler_dir": str(traces),
        "torch_profiler_record_shapes": True,
        "torch_profiler_with_stack": False,
        "torch_profiler_use_gzip": True,
    }


if __name__ == "__main__":
    main()
