"""`python -m server.reference`: write the generated documents and schemas, or check that they are fresh."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.reference.figures import kept_files
from server.reference.files import generated, stale, write
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from datetime import datetime

EXIT_STALE, EXIT_REFUSED = 1, 2
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("python -m server.reference")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 naming the files that are not fresh.")
@click.option("--demo", type=FILE, help="Take the README's figures from this report of `servingsim demo`.")
@click.option("--bench", type=FILE, help="Take the README's figures from this build/bench.json.")
@click.option(
    "--measured-on", type=click.DateTime(["%Y-%m-%d"]), help="Day of those figures; default: the file's."
)
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="The checkout; default: the current folder.",
)
def main(
    *, check: bool, demo: Path | None, bench: Path | None, measured_on: datetime | None, root: Path
) -> None:
    """Write docs/cli.md, docs/kernels.md, docs/tools.md, schemas/ and the marked blocks of README.md."""
    # A workspace's kinds are its owner's, not the package's.
    os.environ.pop("SERVINGSIM_WORKSPACE", None)
    if check and (demo or bench):
        raise click.UsageError("--check writes nothing: leave --demo and --bench out")
    try:
        day = measured_on.date() if measured_on else None
        files = generated(root, kept_files(root, demo=demo, bench=bench, day=day))
        old = stale(root, files)
        if not check:
            write(root, files)
    except ServingSimError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(EXIT_REFUSED)
    for place in old:
        click.echo(f"{'stale' if check else 'written'}: {place}")
    if check and old:
        click.echo("next: python -m server.reference", err=True)
        sys.exit(EXIT_STALE)


if __name__ == "__main__":
    main()
