"""`skills`: the skills as text for agents: list them, write them as folders, check such folders."""

from __future__ import annotations

from pathlib import Path

import click

from profiling.console import emit, table
from server.console import json_flag
from server.skill_folders import export_skills, exported_skills, skill_texts

EXIT_FAULTY = 1
FOLDER = click.Path(path_type=Path)


@click.group("skills")
def skills() -> None:
    """The skills as text for agents, one folder each, after the Agent Skills specification."""


@skills.command("list")
@json_flag
def list_(*, as_json: bool) -> None:
    """Names of the skills, and what each is for."""
    found = skill_texts()
    if as_json:
        emit([{"name": each.name, "description": each.description} for each in found])
    else:
        table(("skill", "what it is for"), [(each.name, each.description) for each in found])


@skills.command("export")
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--overwrite", is_flag=True, help="Replace other files of the same names.")
@json_flag
def export(folder: Path, *, overwrite: bool, as_json: bool) -> None:
    """Write each skill to DIR/NAME/SKILL.md, for instance to .claude/skills."""
    files = [str(path) for path in export_skills(folder, overwrite=overwrite)]
    if as_json:
        emit({"folder": str(folder), "files": files})
    else:
        click.echo(f"{len(files)} skills written to {folder}")


@skills.command("check")
@click.argument("folder", type=FOLDER, metavar="DIR", required=False)
@json_flag
@click.pass_context
def check(ctx: click.Context, folder: Path | None, *, as_json: bool) -> None:
    """Check the skills of this package, or the folders of DIR. Exit code 1 names what is not valid."""
    found = skill_texts() if folder is None else exported_skills(folder)
    faulty = {each.name: list(each.faults) for each in found if each.faults}
    if as_json:
        emit({"checked": [each.name for each in found], "faults": faulty})
    else:
        for name, faults in faulty.items():
            for fault in faults:
                click.echo(f"{name}: {fault}")
        click.echo(f"{len(found)} skills checked, {len(faulty)} not valid")
    if faulty:
        ctx.exit(EXIT_FAULTY)


COMMAND = skills
