"""Measured figures in the README: kept under `docs/figures`, each told with its machine and its day."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from profiling.cpu_facts import model_name
from server.demo.report import DemoReport
from server.reference.accuracy_claims import ACCURACY, AccuracyFigures
from server.reference.accuracy_files import pages_of
from server.reference.accuracy_page import headline_block
from server.reference.bench_block import bench_block
from server.reference.demo_block import demo_block, gpu_block
from servingsim.errors import ServingSimError
from servingsim.validation import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

DEMO, BENCH = Path("docs/figures/demo.json"), Path("docs/figures/bench.json")
M = TypeVar("M", bound=BaseModel)


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    measured_on: date = Field(description="day of the run, UTC")


class DemoFigures(_Kept):
    """A run of the demonstration."""

    report: DemoReport


class BenchFigures(_Kept):
    """A run of the benchmarks."""

    cpu: str = Field(description="where speeds were measured; errors do not depend on it")
    figures: dict[str, float]


def kept_files(root: Path, *, demo: Path | None, bench: Path | None, day: date | None) -> dict[Path, str]:
    """Texts of the kept figures by their place: new ones where given, else what lies there.

    Args:
        root: The checkout.
        demo: A report of `servingsim demo`.
        bench: A `build/bench.json` of this machine.
        day: Day of the new ones; None: that of their files.

    Raises:
        ServingSimError: A file that is none of these.
    """
    places = [place for place in (DEMO, BENCH, ACCURACY) if (root / place).exists()]
    kept = {place: (root / place).read_text("utf-8") for place in places}
    if demo:
        data = {"measured_on": day or _day_of(demo), "report": _json(demo)}
        kept[DEMO] = _text(parse(DemoFigures, data, where=str(demo)))
    if bench:
        data = {"measured_on": day or _day_of(bench), "cpu": model_name(), "figures": _json(bench)}
        kept[BENCH] = _text(parse(BenchFigures, data, where=str(bench)))
    return kept


def blocks(kept: Mapping[Path, str]) -> Mapping[str, str]:
    """Text of each marked block by its name.

    Raises:
        ServingSimError: Kept figures of another form.
    """
    demo, bench = _read(DemoFigures, kept, DEMO), _read(BenchFigures, kept, BENCH)
    accuracy = _read(AccuracyFigures, kept, ACCURACY)
    return {
        "demo": demo_block(demo.report, demo.measured_on) if demo else "Not measured yet.",
        "h100": gpu_block(demo.report) if demo else "Not predicted yet.",
        "bench": bench_block(bench.figures, bench.cpu, bench.measured_on) if bench else "Not measured yet.",
        "accuracy": headline_block(accuracy) if accuracy else "Not measured yet.",
    }


def accuracy_pages(kept: Mapping[Path, str]) -> dict[Path, str]:
    """ACCURACY.md and the errors that predictions print; nothing where no claim was measured yet."""
    accuracy = _read(AccuracyFigures, kept, ACCURACY)
    return pages_of(accuracy) if accuracy else {}


def _read(model: type[M], kept: Mapping[Path, str], place: Path) -> M | None:
    return parse(model, _decoded(kept[place], place), where=str(place)) if place in kept else None


def _json(path: Path) -> object:
    try:
        return _decoded(path.read_text(encoding="utf-8"), path)
    except OSError as error:
        raise ServingSimError(
            f"cannot be read: {error.strerror}",
            code="E_PATH",
            path=str(path),
            hint="run `make demo` or `make bench` first",
        ) from error


def _decoded(text: str, path: Path) -> object:
    try:
        decoded: object = json.loads(text)
    except ValueError as error:
        raise ServingSimError(f"is not JSON: {error}", path=str(path)) from error
    return decoded


def _day_of(path: Path) -> date | None:
    """The day on which the file was written."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).date() if path.exists() else None


def _text(kept: BaseModel) -> str:
    return json.dumps(kept.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"
