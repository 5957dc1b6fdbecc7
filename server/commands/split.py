"""`split`: a model as the kernels it costs, for people: a table, and files to read and to share."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from profiling.console import emit
from server.console import json_flag, tell
from server.split_phases import phases_of
from server.tool_session import as_error, call, exit_code
from servingsim.errors import ServingSimError
from skills.desk import Desk
from skills.split_model.schema import DtypeName, KvDtypeName, SplitReport, StackName

if TYPE_CHECKING:
    from server.envelope import Envelope

EXAMPLES = """\b
Examples:
  servingsim split qwen3-0.6b
  servingsim split path/to/config.json --stack vllm --tp 8 --ep 8 --out build/split
  servingsim split path/to/model/ --stack sglang --decode 8192x32 --capture trace.json.gz

A prefill is NEW[:CACHED][xCOUNT] tokens, a decode CONTEXT[xCOUNT] with the context before the step. Exit codes: 0
split, 1 a criterion fails, 2 refused, 130 interrupted.
"""


@click.command("split", epilog=EXAMPLES)
@click.argument("config", metavar="CONFIG")
@click.option(
    "--stack",
    type=click.Choice(get_args(StackName)),
    default="vllm",
    show_default=True,
    help="Serving stack whose launches are meant.",
)
@click.option("--tp", type=click.IntRange(1), default=1, show_default=True, help="Tensor-parallel ranks.")
@click.option(
    "--ep", type=click.IntRange(1), default=1, show_default=True, help="Ranks that share the experts."
)
@click.option(
    "--dtype",
    type=click.Choice(get_args(DtypeName)),
    default="auto",
    show_default=True,
    help="In place of the config's.",
)
@click.option(
    "--kv-dtype",
    type=click.Choice(get_args(KvDtypeName)),
    default="auto",
    show_default=True,
    help="Of the KV cache.",
)
@click.option("--prefill", multiple=True, metavar="Q[:PREFIX][xN]", help="A phase to price; repeatable.")
@click.option("--decode", multiple=True, metavar="CONTEXT[xN]", help="A phase to price; repeatable.")
@click.option(
    "--capture",
    type=click.Path(path_type=Path),
    help="A profile of a real run: its kernels are placed in the rows. Without one every launch is inferred.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for split.json, split.md and split.html."
)
@json_flag
@click.pass_context
def split(
    ctx: click.Context,
    /,
    *,
    config: str,
    prefill: tuple[str, ...],
    decode: tuple[str, ...],
    capture: Path | None,
    out: Path | None,
    as_json: bool,
    **fields: Any,  # noqa: ANN401 - fields of the request, checked there and by click
) -> None:
    """Split the model of CONFIG into the kernels it costs: a config.json, its folder, or a bundled name.

    Every operation has one home: a kernel kind, a new kernel, an elementwise launch, or the epilogue of another. A
    trace of the model, an independent count and a capture check that nothing is missing or counted twice.
    """
    path = Path(config)
    arguments = fields | {
        "model": str(path.resolve()) if path.exists() else config,
        "phases": phases_of(prefill, decode),
        "capture": str(capture.resolve()) if capture else "",
        "without_capture": capture is None,
    }
    envelope = call("split_model", arguments, Desk.from_environment(roots=_roots(path, capture)))
    if envelope.error is not None:
        tell(as_error(envelope.error), as_json=as_json)
        ctx.exit(exit_code(envelope))
    report, title = _report(envelope), _title(path, config)
    written = _written(report, title, out) if out else []
    if as_json:
        emit(report.model_dump(mode="json"))
    else:
        from server.split_page.view import show  # noqa: PLC0415 - a JSON answer needs no rich

        show(report, title)
        click.echo(f"to price it, and to see which rows to profile: {_predict_command(config, fields)}")
        for file in written:
            click.echo(f"wrote {file}")
    ctx.exit(exit_code(envelope))


COMMAND = split


def _roots(path: Path, capture: Path | None) -> tuple[str, ...]:
    """Folders of the files that were named, and the current one."""
    named = [each.resolve() for each in (path, capture) if each is not None and each.exists()]
    return (".", *(str(each if each.is_dir() else each.parent) for each in named))


def _title(path: Path, config: str) -> str:
    """How a person calls the model: the folder of a plain `config.json`, else the file's own name."""
    if not path.exists():
        return config
    resolved = path.resolve()
    return resolved.parent.name if resolved.name == "config.json" else resolved.name.removesuffix(".json")


def _predict_command(config: str, fields: dict[str, Any]) -> str:
    """The same model priced on a device: its missing rows come with the command that measures them."""
    ranks = "".join(f" --{name} {fields[name]}" for name in ("tp", "ep") if fields[name] != 1)
    stack = shlex.quote(fields["stack"])
    return f"servingsim predict {shlex.quote(config)} --stack {stack}{ranks} --device DEVICE --decode 2048x64"


def _report(envelope: Envelope) -> SplitReport:
    """The whole report: what an answer holds may have been shortened."""
    if envelope.kept is None:
        raise ServingSimError("the split was not kept", code="E_STATE", hint="free some disk space")
    return SplitReport.model_validate(json.loads(Path(envelope.kept.path).read_bytes()))


def _written(report: SplitReport, title: str, folder: Path) -> list[Path]:
    from server.split_page.write import write_split  # noqa: PLC0415 - only where files are wanted

    return write_split(report, title, folder)
