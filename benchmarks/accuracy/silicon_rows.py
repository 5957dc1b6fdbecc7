"""Published measurements of whole engines (aiconfigurator, `silicon_version_matched.csv`) as cases to predict.

Times are milliseconds. The column `silicon_data_source` holds how many clients ask at once; each sends its next request
when its last one is done, all prompts are `isl` tokens long and all outputs `osl`. TTFT is not judged: in these rows it
grows with the length of the output.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.h100_rows import Absent

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CASES = DATA / "e2e" / "aiconfigurator" / "silicon_version_matched.csv"
CLIENTS = re.compile(r"silicon_concurrency=(\d+)")


@dataclass(frozen=True)
class Case:
    """One measured run: tokens of each prompt and output, clients at once, and its mean TPOT."""

    tp: int
    prompt_tokens: int
    output_tokens: int
    clients: int
    tpot_ms: float

    @property
    def key(self) -> tuple[int, int, int, int]:
        """What tells it from others of its table."""
        return self.tp, self.prompt_tokens, self.output_tokens, self.clients


def cases_of(system: str, backend: str, version: str, model: str) -> list[Case]:
    """Aggregated runs of one model and engine, in the order of the file.

    Raises:
        Absent: The file is not there, or has no such row.
    """
    if not CASES.is_file():
        raise Absent(f"{CASES.name} is not beside the checkout")
    wanted = {
        "system": system,
        "backend": backend,
        "backend_version": version,
        "model_path": model,
        "mode": "agg",
    }
    with CASES.open(encoding="utf-8", newline="") as file:
        found = [
            _case(row)
            for row in csv.DictReader(file)
            if all(row[name] == value for name, value in wanted.items())
        ]
    if not found:
        raise Absent(f"{CASES.name} has no row of {system}, {backend} {version}, {model}")
    return found


def kernels(folder: str) -> Path:
    """A folder of kernel tables beside the checkout.

    Raises:
        Absent: It is not there.
    """
    path = DATA / "kernels" / folder
    if not path.is_dir():
        raise Absent(f"{folder} is not beside the checkout")
    return path


def _case(row: dict[str, str]) -> Case:
    clients = CLIENTS.search(row["silicon_data_source"])
    return Case(
        tp=int(row["tp_size"]),
        prompt_tokens=int(row["isl"]),
        output_tokens=int(row["osl"]),
        clients=int(clients[1] if clients else row["batch_size"]),
        tpot_ms=float(row["silicon_tpot_ms"]),
    )
