"""`servingsim forward`: a real forward of a model on this CPU beside its prediction, op by op."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from profiling.console import emit, say
from profiling.device import local_devices
from profiling.forward_case import ForwardCase
from server.batch_text import read_batch
from server.console import json_flag, threads_of_both
from server.forward.run import LEAST_ROUNDS, compare
from server.forward.trial import Trial
from server.forward.view import show
from servingsim.archs.hf_config import json_object
from servingsim.archs.models import config_path
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.timing.batch import Batch

EXAMPLES = """\b
Examples:
  servingsim forward qwen3-0.6b --prefill 128 --decode 512 --decode 512x8
  servingsim forward path/to/config.json --prefill 64:192 --rounds 16 --json

A prefill is NEW[:CACHED][xCOUNT] tokens, a decode CONTEXT[xCOUNT] with the context before the step. Each is a
step of its own.
"""


@click.command("forward", epilog=EXAMPLES)
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--prefill", multiple=True, metavar="Q[:PREFIX][xN]", help="A prefill step; repeatable.")
@click.option("--decode", multiple=True, metavar="CONTEXT[xN]", help="A decode step; repeatable.")
@click.option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS),
    default=12,
    show_default=True,
    help="How often kernels and steps are measured in turn.",
)
@threads_of_both
@json_flag
def forward(
    config: Path,
    *,
    prefill: tuple[str, ...],
    decode: tuple[str, ...],
    rounds: int,
    threads: int,
    as_json: bool,
) -> None:
    """Run the model of CONFIG with Transformers (random weights) and predict it from kernels timed in turn with it.

    The report sets every step beside its prediction, and every part of the step (projections, attention, experts,
    norms, what lies between launches) beside the operations that predict it. What the host adds comes from a narrow
    model of the same layers, never from the model itself.
    """
    cases = [*_steps(prefill, ()), *_steps((), decode)]
    device = next(each for each in local_devices(threads) if each.type == "cpu")
    path = config_path(config)
    data = json_object(path / "config.json" if path.is_dir() else path)
    trial = Trial.of(str(config), data, device.name, cases)
    say(f"{trial.name} on {device.name}: {len(cases)} steps, {rounds} rounds, a narrow model first")
    report = compare(
        trial,
        threads=threads,
        rounds=rounds,
        on_round=lambda done, of: say(f"round {done} of {of}"),
    )
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)


COMMAND = forward


def _steps(prefill: tuple[str, ...], decode: tuple[str, ...]) -> Iterator[ForwardCase]:
    """Each option is a step of equal requests."""
    for text in prefill:
        yield _prefill(read_batch((text,), (), None))
    for text in decode:
        batch = read_batch((), (text,), None)
        context_len = int(batch.rows.kv_len[0]) - 1
        if context_len < 1:
            raise ServingSimError(
                f"--decode {text}", known="a context of at least one token", hint="or use --prefill 1"
            )
        yield ForwardCase(len(batch.rows.kv_len), 1, context_len)


def _prefill(batch: Batch) -> ForwardCase:
    rows = batch.rows
    return ForwardCase(len(rows.q_len), int(rows.q_len[0]), int(rows.prefix_len[0]))
