"""`predict`: one iteration of a model on a device, op by op, from measured kernels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from profiling.console import emit
from profiling.paths import default_db
from profiling.source import StoreSource
from server.batch_text import read_batch
from server.console import json_flag
from server.measuring import command_for, fill, local_device, measured_limits, open_store
from server.predict_model import model_of
from server.predict_view import show
from servingsim.archs.kv import DEFAULT_UTILISATION
from servingsim.archs.models import config_path
from servingsim.archs.stack_registry import stack_named
from servingsim.sim.evaluate import evaluate
from servingsim.sim.missing import missing_kernels
from servingsim.sim.options import PredictOptions
from servingsim.sim.predict import predict as predict_iteration
from servingsim.timing.contract import Dtype
from servingsim.timing.coverage import OnMissing

if TYPE_CHECKING:
    from profiling.store import Store
    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.timing.batch import Batch

EXAMPLES = """\b
Examples:
  servingsim predict qwen3-0.6b --device cpu --stack transformers --prefill 512 --fill
  servingsim predict path/to/model/ --device cpu --stack transformers --decode 512x8 --json
  servingsim predict llama-3.1-8b --device "NVIDIA H100 80GB HBM3" --tp 4 --prefill 512 --decode 2048x64

A prefill is NEW[:CACHED][xCOUNT] tokens, a decode CONTEXT[xCOUNT] with the context before the step.
"""


@click.command("predict", epilog=EXAMPLES)
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--device", required=True, help="Device key, or `cpu` or `cuda` for the one at hand.")
@click.option("--tp", type=int, default=1, show_default=True, help="Tensor-parallel ranks.")
@click.option(
    "--ep", type=click.IntRange(1), default=1, show_default=True, help="Ranks that share the experts."
)
@click.option("--stack", default="vllm", show_default=True, help="Serving stack: a file of archs/stacks.")
@click.option("--stack-version", help="Version whose imported rows are used, where there are several.")
@click.option("--prefill", multiple=True, metavar="Q[:PREFIX][xN]", help="Prefill requests; repeatable.")
@click.option("--decode", multiple=True, metavar="CONTEXT[xN]", help="Decode requests; repeatable.")
@click.option(
    "--batch", type=click.Path(path_type=Path), help='JSON: {"prefill": [[q, prefix]], "decode": []}.'
)
@click.option("--db", metavar="PATH", help="The store; default $SERVINGSIM_DB or ./servingsim.db.")
@click.option("--dtype", type=click.Choice(["bf16", "fp16", "fp32"]), help="In place of the config's.")
@click.option("--kv-dtype", type=click.Choice(get_args(Dtype)), help="Of the KV cache; default: the model's.")
@click.option("--threads", type=int, help="Threads of the CPU at hand; part of its device key.")
@click.option("--fill", "wants_fill", is_flag=True, help="Measure missing rows first, on this machine only.")
@click.option(
    "--on-missing",
    type=click.Choice(get_args(OnMissing)),
    default="estimate",
    show_default=True,
    help="Refuse what no row answers; or estimate, with a flag, kernels without any row from the device's "
    "limits; or estimate all that the rows refuse to answer, too.",
)
@click.option(
    "--max-num-tokens", type=click.IntRange(1), help="New tokens of an iteration; default: the batch's."
)
@click.option(
    "--max-num-seqs", type=click.IntRange(1), help="Requests of an iteration; default: the batch's."
)
@click.option("--max-model-len", type=click.IntRange(1), help="Longest request; default: the batch's.")
@click.option(
    "--utilisation",
    type=float,
    default=DEFAULT_UTILISATION,
    show_default=True,
    help="Share of the device's memory that weights and KV cache may take.",
)
@json_flag
def predict(  # noqa: PLR0913 - one parameter an option
    config: Path,
    *,
    prefill: tuple[str, ...],
    decode: tuple[str, ...],
    batch: Path | None,
    dtype: Dtype | None,
    db: str | None,
    wants_fill: bool,
    as_json: bool,
    threads: int | None,
    device: str,
    stack: str,
    ep: int,
    **options: Any,  # noqa: ANN401 - the fields of PredictOptions, checked there and by click
) -> None:
    """Predict one iteration of the model of CONFIG: a config.json, its folder, or a bundled name.

    A dense decoder is priced by its own architecture, any other model by the table of its split, without the
    trace that `servingsim split` checks it with. Times are milliseconds of one rank. Rows that are missing are
    listed with the command that measures them.
    """
    serving = stack_named(stack)
    model = model_of(
        config_path(config), stack=stack, tp=options["tp"], ep=ep, dtype=dtype, kv_dtype=options["kv_dtype"]
    )
    iteration = read_batch(prefill, decode, batch)
    key = local_device(device, threads).name if device in {"cpu", "cuda"} else device
    wanted = PredictOptions(device=key, stack=serving, **options)
    path = Path(db or default_db())
    with open_store(path, create=wants_fill) as store:
        if wants_fill:
            _fill(store, model, iteration, wanted, threads)
        source = StoreSource(store)
        report = predict_iteration(
            model, iteration, source, wanted, lambda each: command_for(each, str(path))
        )
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        show(report)


COMMAND = predict


def _fill(
    store: Store,
    model: DenseFacts | TableModel,
    iteration: Batch,
    wanted: PredictOptions,
    threads: int | None,
) -> None:
    """Measure what the prediction lacks; the prediction is made afterwards, from the rows."""
    here = local_device(wanted.device, threads)
    measured_limits(store, here)
    estimate = replace(wanted, on_missing="estimate")
    fill(store, here, missing_kernels(evaluate(model, iteration, StoreSource(store), estimate).logs))
