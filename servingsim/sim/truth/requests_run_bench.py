"""A measured run from a result of `vllm bench serve`: what stands in for what the file does not hold is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servingsim.errors import ServingSimError
from servingsim.sim.truth.requests import MeasuredRequests
from servingsim.sim.truth.requests_bench import read_bench
from servingsim.sim.truth.requests_bench_fields import LENGTHS, SENT, TIMES
from servingsim.sim.truth.requests_compare import figures_of
from servingsim.sim.truth.requests_run import MeasuredRun
from servingsim.sim.workload.contract import plain_workload
from servingsim.sim.workload.spec import Arrivals
from servingsim.sim.workload.synthetic import GAPS, arrivals_ms, stream, told

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.truth.requests_bench import BenchResult
    from servingsim.sim.truth.requests_bench_fields import BenchRequests
    from servingsim.timing.batch import IntArray

SEED = 0
AGREE_PERCENT = 1.0
"""What a file says of all its requests and what they give one by one are the same within this."""
HOW_TO_DETAIL = "record the run with `vllm bench serve --save-result --save-detailed`"


def run_of_bench(path: Path) -> MeasuredRun:
    """A result of `vllm bench serve`, with or without its requests one by one.

    Raises:
        ServingSimError: As `read_bench`; no request got an answer; nothing says when requests came.
    """
    bench = read_bench(path)
    if not bench.completed or not bench.output_tokens:
        raise ServingSimError(
            "completed or total_output_tokens is 0",
            known="a run in which requests got an answer",
            path=str(path),
        )
    listed = bench.requests
    prompt, output = (listed.prompt, listed.output) if listed else _mean_lengths(bench)
    order = (
        np.arange(len(prompt))
        if listed is None or listed.sent_ms is None
        else np.argsort(listed.sent_ms, kind="stable")
    )
    arrivals, timed = _arrivals(bench, path)
    if arrivals is None and listed is not None and listed.sent_ms is not None:
        at_ms, how = listed.sent_ms[order], "as sent"
    else:
        spec = arrivals or Arrivals(kind="burst")
        at_ms, how = arrivals_ms(spec, len(prompt), stream(SEED, GAPS)), _said(spec)
    requests = _requests(listed, order, path.stem)
    return MeasuredRun(
        name=path.name,
        what="result of vllm bench serve, times by the client's clock",
        workload=plain_workload(path.stem, f"{path.name}: {how}", at_ms, prompt[order], output[order]),
        requests=requests,
        timed=timed and requests is not None,
        figures={**bench.figures, **(figures_of(requests) if requests else {})},
        output_tokens_per_s=bench.output_tokens_per_s,
        requests_per_s=bench.requests_per_s,
        arrivals=how,
        missing=tuple(_missing(bench)),
        notes=tuple(_notes(bench, requests, timed=timed)),
    )


def _arrivals(bench: BenchResult, path: Path) -> tuple[Arrivals | None, bool]:
    """How requests come (None: as sent), and whether that is as they came in the run."""
    sent = bench.requests is not None and bench.requests.sent_ms is not None
    if bench.rate_per_s is None and bench.max_concurrency:
        # The client sends the next request when one is done: its times follow from the engine's.
        return Arrivals(kind="closed", size=bench.max_concurrency), sent
    if sent:
        return None, True
    if bench.rate_per_s is None:
        return Arrivals(kind="burst"), True
    if bench.rate_per_s == 0:
        raise ServingSimError("request_rate: 0", known="requests a second, or inf", path=str(path))
    return Arrivals(kind="gamma", rate_per_s=bench.rate_per_s, cv=bench.burstiness**-0.5), False


def _said(spec: Arrivals) -> str:
    drawn = f", drawn with seed {SEED}" if spec.kind == "gamma" else ""
    return told(spec) + drawn


def _mean_lengths(bench: BenchResult) -> tuple[IntArray, IntArray]:
    """Every request of the mean lengths, the rest of the division spread over the first ones."""
    count = bench.completed
    at = np.arange(count)
    prompt, output = (
        np.maximum(total // count + (at < total % count), 1)
        for total in (bench.prompt_tokens, bench.output_tokens)
    )
    return prompt, output


def _requests(listed: BenchRequests | None, order: IntArray, name: str) -> MeasuredRequests | None:
    if listed is None or listed.ttft_ms is None or listed.latency_ms is None:
        return None
    sent_ms = np.zeros(len(order)) if listed.sent_ms is None else listed.sent_ms
    return MeasuredRequests(
        output=listed.output[order],
        arrival_ms=sent_ms[order],
        scheduled_ms=np.full(len(order), np.nan),
        first_token_ms=(sent_ms + listed.ttft_ms)[order],
        end_ms=(sent_ms + listed.latency_ms)[order],
        prompt=listed.prompt[order],
        name=name,
    )


def _missing(bench: BenchResult) -> list[str]:
    """What the file lacks, and what stands in for it."""
    lacking = {*bench.missing}
    found = []
    if lacking & {*LENGTHS}:
        found.append(
            f"no {', '.join(name for name in LENGTHS if name in lacking)}: every request has the mean lengths, so "
            f"quantiles of the simulation are too narrow; {HOW_TO_DETAIL}"
        )
    if lacking & {*TIMES}:
        found.append(
            f"no {', '.join(name for name in TIMES if name in lacking)}: only the file's own figures are compared, no "
            f"request and no curve; {HOW_TO_DETAIL}"
        )
    if SENT in lacking:
        found.append(
            "no start_times: when requests were sent is taken from request_rate, burstiness and max_concurrency; "
            "newer versions of vLLM write them with --save-detailed"
        )
    return found


def _notes(bench: BenchResult, requests: MeasuredRequests | None, *, timed: bool) -> list[str]:
    notes = [
        "TTFT and latency of the file hold the way to the client and back, which the simulation does not"
    ]
    if bench.failed:
        notes.append(f"{bench.failed} requests of the run failed: they are not served again")
    if bench.max_concurrency and bench.rate_per_s is None:
        notes.append(
            f"max_concurrency {bench.max_concurrency}, request_rate inf: the client sent a request when one was done, "
            "as the simulation does at its own pace"
        )
    elif bench.max_concurrency and timed:
        notes.append(
            f"max_concurrency {bench.max_concurrency}: the client may have held requests back until others were done; "
            "the simulation gets them when they were sent"
        )
    if requests is None:
        return notes
    by_request = figures_of(requests)
    notes += [
        f"{name.replace('_', ' ')}: {bench.figures[name]:.4g} ms by the file, {value:.4g} ms by its requests one by "
        "one, which is what is compared"
        for name, value in by_request.items()
        if name.endswith("_mean")
        and name in bench.figures
        and abs(value - bench.figures[name]) > AGREE_PERCENT / 100 * bench.figures[name]
    ]
    return notes
