"""`schemas`: export the tools' JSON schemas, check the kept ones, tell what a change breaks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from profiling.console import emit, say
from server.console import json_flag
from server.schema_diff import Direction
from server.schema_files import FOLDER, compare_paths, differing, published
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from server.schema_files import FileChange

EXIT_BROKEN = 1
PLACE = click.Path(path_type=Path)


@click.group("schemas")
def schemas() -> None:
    """JSON schemas of the tools and of the skills' reports, for programs and for CI."""


@schemas.command("export")
@click.argument("folder", type=PLACE, metavar="DIR")
@json_flag
def export(folder: Path, *, as_json: bool) -> None:
    """Write tools/NAME.input.json, tools/NAME.output.json and reports/SKILL.vN.json below DIR."""
    files = published()
    try:
        for place, text in files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ServingSimError(
            f"cannot be written: {error.strerror}", code="E_PATH", path=str(folder)
        ) from error
    names = sorted(place.as_posix() for place in files)
    if as_json:
        emit({"folder": str(folder), "files": names})
    else:
        click.echo(f"{len(names)} schemas written to {folder}")


@schemas.command("check")
@click.argument("folder", type=PLACE, metavar="DIR", default=FOLDER)
@json_flag
@click.pass_context
def check(ctx: click.Context, folder: Path, *, as_json: bool) -> None:
    """Compare the schemas of DIR, by default ./schemas, with what this version publishes.

    Exit code 1 names each file that is missing, different or left over.
    """
    if not folder.is_dir():
        raise ServingSimError(
            f"no folder: {folder}",
            code="E_NOT_FOUND",
            path="DIR",
            hint=f"servingsim schemas export {folder}",
        )
    files = published()
    matter = differing(folder, files)
    if as_json:
        emit({"folder": str(folder), "checked": len(files), "differing": matter})
    else:
        for place, what in matter.items():
            click.echo(f"{what}: {folder / place}")
        click.echo(f"{len(files)} schemas checked, {len(matter)} differ")
    if matter:
        say(f"next: servingsim schemas diff {folder} NEW shows what a change means, NEW being an export")
        ctx.exit(EXIT_BROKEN)


@schemas.command("diff")
@click.argument("old", type=PLACE)
@click.argument("new", type=PLACE)
@click.option(
    "--direction",
    type=click.Choice(get_args(Direction)),
    help="Whether callers write what the schemas describe, or read it; default: by each file's name.",
)
@json_flag
@click.pass_context
def diff(ctx: click.Context, old: Path, new: Path, *, direction: Direction | None, as_json: bool) -> None:
    """Tell what breaks callers between two schema files, or two folders of them.

    An input breaks where less is accepted; an output where more may come, or less than before. Exit code 1 where
    something breaks.
    """
    changes = compare_paths(old, new, direction)
    breaks = sum(each.change.severity == "break" for each in changes)
    if as_json:
        emit({"breaks": breaks, "changes": [_facts(each) for each in changes]})
    else:
        for each in changes:
            click.echo(f"{each.change.severity}: {each.file} {each.change.path}: {each.change.what}")
        click.echo(f"{len(changes)} changes, {breaks} break callers")
    if breaks:
        ctx.exit(EXIT_BROKEN)


def _facts(each: FileChange) -> dict[str, str]:
    change = each.change
    return {"file": each.file, "path": change.path, "severity": change.severity, "what": change.what}


COMMAND = schemas
