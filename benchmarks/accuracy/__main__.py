"""`python -m benchmarks.accuracy`: measure every claim about accuracy, and write what the project says of itself.

Each area (a file of this folder) is kept as soon as it is done, so that a run that breaks goes on where it stopped:
what was measured with the same code is not measured again, unless `--fresh`. Written are build/accuracy.json (flat,
figure to value), docs/figures/accuracy.json (the claims), and from it ACCURACY.md, servingsim/validated.json and the
README's table.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.accuracy.contract import refuse_fitted_on_judged
from benchmarks.accuracy.kept import Area, fingerprint, keep, kept, read, write_figures, write_pages
from benchmarks.h100_rows import Absent
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy.contract import Claim

HERE = Path(__file__).parent
EXIT_MISSED, EXIT_REFUSED = 1, 2
Measure = Callable[[], "list[Claim]"]


def main() -> None:
    """Run all areas of this folder, or the named ones."""
    sys.exit(run(sys.argv[1:], root=HERE.parents[1], areas=areas_of(HERE)))


def areas_of(folder: Path) -> dict[str, Measure]:
    """What measures each area: `claims()` of every file that has it, imported when it is its turn."""
    return {
        path.stem: partial(_measure, path.stem)
        for path in sorted(folder.glob("[!_]*.py"))
        if "\ndef claims(" in path.read_text("utf-8")
    }


def run(arguments: Sequence[str], *, root: Path, areas: Mapping[str, Measure]) -> int:
    """Measure, keep and write; the exit code.

    Args:
        arguments: As they are typed.
        root: The checkout whose code is digested and whose files are written.
        areas: What measures each.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument(
        "--area", action="append", choices=list(areas), help="only this one; may be given again"
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what this code measured before")
    parser.add_argument("--strict", action="store_true", help="exit 1 where a figure misses its target")
    given = parser.parse_args(arguments)
    # Without markup: a claim may say [this].
    console = Console(soft_wrap=True, markup=False)
    code = fingerprint(root)
    try:
        chosen = {name: areas[name] for name in given.area or areas}
        found = [
            _area(root, name, measure, code, console, fresh=given.fresh) for name, measure in chosen.items()
        ]
        measured = [area for area in found if area is not None]
        write_figures(root, areas)
        written = write_pages(root, measured, areas)
    except ServingSimError as error:
        console.print(f"error: {error}", style="bold")
        return EXIT_REFUSED
    console.print(f"written: {', '.join(map(str, written)) or 'nothing, all is fresh'}")
    missed = any(claim.missed for area in measured for claim in area.claims)
    return EXIT_MISSED if given.strict and missed else 0


def _measure(name: str) -> list[Claim]:
    claims: list[Claim] = importlib.import_module(f"benchmarks.accuracy.{name}").claims()
    return claims


def _area(
    root: Path, name: str, measure: Measure, code: str, console: Console, *, fresh: bool
) -> Area | None:
    """An area's claims: kept ones of the same code, or measured now; None where its data is absent."""
    before = None if fresh else read(kept(root, name))
    if before is not None and before.code == code:
        console.print(f"{name}: measured with this code before")
        return _told(before, console)
    begin = time.perf_counter()
    console.print(f"{name}: measuring")
    try:
        claims = measure()
    except Absent as absent:
        console.print(f"{name}: left out, {absent}")
        return None
    refuse_fitted_on_judged(claims)
    area = Area.of(name, code, claims)
    keep(root, area)
    console.print(f"{name}: {time.perf_counter() - begin:.0f} s")
    return _told(area, console)


def _told(area: Area, console: Console) -> Area:
    """Print its figures beside their targets."""
    for claim in area.claims:
        console.print(f"  {claim.id}: {claim.says}")
        for figure, value in claim.figures.items():
            most = claim.targets.get(figure)
            aim = (
                "" if most is None else f"  (at most {most:g}{', MISSED' if figure in claim.missed else ''})"
            )
            console.print(f"    {figure} {value:,.4g}{aim}")
    return area


if __name__ == "__main__":
    main()
