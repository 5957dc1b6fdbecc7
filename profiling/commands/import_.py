"""`import`: take over times that others have measured, under their true device and with their provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import click

from profiling import discovery
from profiling.command_line import summary
from profiling.console import db_option, describe, emit, json_option
from profiling.paths import default_db
from profiling.store import Store
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel


class Importer(Protocol):
    """What a file of `importers/` defines as `IMPORTER`.

    Attributes:
        name: The file's stem, and the name on the command line.
        help: What it imports, for its `--help`.
        options: Its own options; their names are the keywords of `run`.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - above
    @property
    def help(self) -> str: ...  # noqa: D102 - above
    @property
    def options(self) -> Sequence[click.Option]: ...  # noqa: D102 - above

    def run(self, store: Store, **options: Any) -> BaseModel:  # noqa: ANN401 - the values of its own options
        """Import into the store; the report says what was read, kept and refused, with reasons."""
        ...


class ImporterFolder(click.Group):
    """Importers by their files' existence, each imported only when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the files that define an importer."""
        del ctx
        return sorted(_files())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The importer as a command; None where there is none of that name."""
        del ctx
        found = _files().get(cmd_name)
        return _command(cast("Importer", found.load("IMPORTER"))) if found else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of importers, from docstrings, without importing one."""
        del ctx
        with formatter.section("Importers"):
            rows = [(name, summary(found.path)) for name, found in sorted(_files().items())]
            formatter.write_dl(rows or [("none", "add one to profiling/importers of the workspace")])


@click.command("import", cls=ImporterFolder)
def import_() -> None:
    """Import measured times of others into the store. A second import of the same data changes nothing."""


COMMAND = import_


def _files() -> dict[str, discovery.Found]:
    """Importers by name.

    Raises:
        ServingSimError: E_STATE, two files define an importer of one name.
    """
    files: dict[str, discovery.Found] = {}
    for found in discovery.scan("profiling/importers"):
        if not found.defines("IMPORTER"):
            continue
        if found.name in files:
            raise ServingSimError(
                f"importer {found.name!r} is defined twice: {files[found.name].path} and {found.path}",
                code="E_STATE",
                hint="rename the one in the workspace",
            )
        files[found.name] = found
    return files


def _command(importer: Importer) -> click.Command:
    @db_option
    @json_option
    def run(db: str | None, *, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - as Importer.run
        with Store.open(db or default_db(), create=True) as store:
            report = importer.run(store, **options).model_dump(mode="json")
        if as_json:
            emit(report)
        else:
            describe(report)

    command = click.command(importer.name, help=importer.help)(run)
    command.params = [*importer.options, *command.params]
    return command
