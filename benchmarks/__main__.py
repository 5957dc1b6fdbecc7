"""`python -m benchmarks`: run every benchmark, print its figures, merge them into build/bench.json.

A benchmark is a file of this folder with a function `measure() -> dict[str, float]`; names of figures are unique. The
file holds one flat object of figure name to value. Figures of benchmarks that are not run stay as they were.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.h100_rows import Absent

HERE = Path(__file__).parent
OUT = HERE.parent / "build" / "bench.json"


def main() -> None:
    """Run all, or the named ones."""
    known = [
        path.stem for path in sorted(HERE.glob("[!_]*.py")) if "\ndef measure(" in path.read_text("utf-8")
    ]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"all without one; known: {', '.join(known)}"
    )
    names = parser.parse_args().names or known
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(known)}")
    console = Console()
    for name in names:
        begin = time.perf_counter()
        try:
            figures = importlib.import_module(f"benchmarks.{name}").measure()
        except Absent as absent:
            console.print(f"{name}: left out, {absent}")
            continue
        console.print(_told(f"{name} ({time.perf_counter() - begin:.1f} s)", figures))
        _merge(figures)
    console.print(f"all figures: {OUT.relative_to(HERE.parent)}")


def _told(title: str, figures: dict[str, float]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right")
    for name, value in figures.items():
        table.add_row(
            name, f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.3g}"
        )
    return table


def _merge(figures: dict[str, float]) -> None:
    """Replace the named figures, keep the others; a reader never sees half a file."""
    before = json.loads(OUT.read_text("utf-8")) if OUT.is_file() else {}
    OUT.parent.mkdir(exist_ok=True)
    part = OUT.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(dict(sorted((before | figures).items())), indent=1) + "\n", "utf-8")
    part.replace(OUT)


if __name__ == "__main__":
    main()
