"""A small checkout and claims of our own making: what the generator is run on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.accuracy.__main__ import run
from benchmarks.accuracy.contract import Claim, Scope, ValidatedRecord
from benchmarks.h100_rows import Absent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.accuracy.__main__ import Measure

HEAD = "# Ours\n\nTold before.\n\n<!-- accuracy:begin -->\n"
TAIL = "\n<!-- accuracy:end -->\n\n| a | table |\n\n<!-- demo:begin -->\nof others\n<!-- demo:end -->\n\ttold after \n"
PAGE, README, VALIDATED = Path("ACCURACY.md"), Path("README.md"), Path("servingsim/validated.json")
FIGURES = Path("build/accuracy.json")


def figures(root: Path) -> dict[str, float]:
    """Those of build/accuracy.json."""
    found: dict[str, float] = json.loads((root / FIGURES).read_text("utf-8"))
    return found


def texts(root: Path) -> dict[str, bytes]:
    """All that was written for readers."""
    return {path: (root / path).read_bytes() for path in map(str, (FIGURES, PAGE, README, VALIDATED))}


def claim(name: str = "gemm", **fields: Any) -> Claim:  # noqa: ANN401 - fields of a claim, checked there
    """One that meets its target, but for the fields."""
    told = {
        "id": name,
        "area": "Kernels",
        "says": f"products of {name}",
        "data": "80 rows of a made table",
        "split": "even rows known, odd rows asked",
        "figures": {f"{name}_mape_percent": 3.5, f"{name}_rows": 40.0},
        "targets": {f"{name}_mape_percent": 4.0},
        "anchor": "others: 5 %",
        "command": f"servingsim fidelity {name}",
        "fitted_on": {f"{name} even"},
        "judged_on": {f"{name} odd"},
    }
    return Claim.model_validate(told | fields)


def record(name: str, **fields: Any) -> ValidatedRecord:  # noqa: ANN401 - fields of a record, checked there
    """The validated error of a claim, but for the fields."""
    scope = Scope(devices=("H100",), stacks=("vllm",), versions=("0.24.0",), kinds=("single_gemm",))
    told = {"id": name, "scope": scope, "metric": "time", "mape_percent": 3.5, "points": 40, "claim": name}
    return ValidatedRecord.model_validate(told | fields)


TWO = {"gemm": (claim("gemm"),), "moe": (claim("moe"),)}


def absent() -> list[Claim]:
    """An area whose data is not here."""
    raise Absent("the wheel of rows is not installed")


def checkout(root: Path) -> Path:
    """One with code, and a README with a place for the table."""
    (root / "servingsim").mkdir()
    (root / "servingsim" / "code.py").write_text("LIMIT = 1\n", "utf-8")
    (root / README).write_text(f"{HEAD}old{TAIL}", "utf-8")
    return root


def change_code(root: Path) -> None:
    """As an edit does that a figure may depend on."""
    with (root / "servingsim" / "code.py").open("a", encoding="utf-8") as file:
        file.write("LIMIT += 1\n")


class Areas:
    """Areas by name; each tells how often it was measured."""

    def __init__(self, **areas: Sequence[Claim] | Measure) -> None:
        self.now: dict[str, Sequence[Claim] | Measure] = dict(areas)
        self.measured: list[str] = []

    def run(self, root: Path, *arguments: str) -> int:
        """The exit code of `python -m benchmarks.accuracy ARGUMENTS` over them."""
        return run(arguments, root=root, areas=self._doors())

    def _doors(self) -> Mapping[str, Measure]:
        return {name: lambda name=name: self._measure(name) for name in self.now}  # type: ignore[misc]

    def _measure(self, name: str) -> list[Claim]:
        self.measured.append(name)
        area = self.now[name]
        return area() if callable(area) else list(area)
