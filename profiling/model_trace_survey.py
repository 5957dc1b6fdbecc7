"""Which model types trace, `python -m profiling.model_trace_survey --json`: every causal model type that is known.

One worker, one type after another, each with its class's default config. A line a type is written as soon as it is
known, so that an interrupted survey goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiling.worker_process import WorkerError, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORKER = "profiling.model_trace_worker"
TYPE_TIMEOUT_S = 90.0
PHASES = (
    {"name": "prefill", "batch": 1, "q_len": 64, "context": 0},
    {"name": "decode", "batch": 2, "q_len": 1, "context": 64},
)
MOST_CLASSES = 4
IN_HINTS = ("region.attention", "region.experts")
"""Regions that the name of a class says already."""
DEFAULTS = Path(__file__).with_name("model_trace_survey.json")
"""What a class's default config lacks, by model type."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Trace every type that has no line yet, then say how many trace."""
    parser = argparse.ArgumentParser(prog="python -m profiling.model_trace_survey", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/model_trace_survey.jsonl"))
    parser.add_argument("--only", nargs="*", help="these model types, again")
    parser.add_argument("--json", action="store_true", help="the whole result, not only the counts")
    parser.add_argument("--table", action="store_true", help="a Markdown row for each decoder type")
    said = parser.parse_args(arguments)
    said.out.parent.mkdir(parents=True, exist_ok=True)
    done = _done(said.out)
    with said.out.open("a", encoding="utf-8") as lines:
        for line in _survey(said.only, set() if said.only else set(done)):
            done[line["model_type"]] = line
            lines.write(json.dumps(line) + "\n")
            lines.flush()
    found = summary(list(done.values()))
    text = json.dumps(found if said.json else found["counts"], indent=1)
    sys.stdout.write(f"{table(found) if said.table else text}\n")


def summary(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts over decoder-only types, and the reason of each that does not trace."""
    decoders = [line for line in lines if line["kind"] == "decoder"]
    traced = [line for line in decoders if line["ok"]]
    return {
        "counts": {
            "decoder_types": len(decoders),
            "traced": len(traced),
            "share": round(len(traced) / max(len(decoders), 1), 4),
            "other_types": len(lines) - len(decoders),
            "other_traced": sum(line["ok"] for line in lines) - len(traced),
        },
        "failed": {line["model_type"]: line["reason"] for line in lines if not line["ok"]},
        "types": sorted(lines, key=lambda line: str(line["model_type"])),
    }


def table(found: dict[str, Any]) -> str:
    """A Markdown row for each decoder type: its layer classes and regions, or why it does not trace."""
    rows = ["| model type | layer classes | other regions |", "| --- | --- | --- |"]
    for line in (each for each in found["types"] if each["kind"] == "decoder"):
        if line["ok"]:
            classes = ", ".join(f"{count} {hint}" for hint, count in line["classes"][:MOST_CLASSES])
            more = len(line["classes"]) - MOST_CLASSES
            other = ", ".join(
                name.removeprefix("region.") for name in line["regions"] if name not in IN_HINTS
            )
            rows.append(
                f"| {line['model_type']} | {classes}{f' and {more} more' if more > 0 else ''} | {other} |"
            )
        else:
            rows.append(
                f"| {line['model_type']} | does not trace: {line['reason'].splitlines()[0][:120]} | |"
            )
    return "\n".join(rows)


def _done(file: Path) -> dict[str, dict[str, Any]]:
    """The last line of each type."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {line["model_type"]: line for line in map(json.loads, lines)}


def _survey(only: Sequence[str] | None, done: set[str]) -> Iterator[dict[str, Any]]:
    """A line for each type; a worker that dies or hangs costs its type, and the next one gets a new worker."""
    added = json.loads(DEFAULTS.read_text(encoding="utf-8"))
    waiting: list[str] | None = None
    while waiting is None or waiting:
        with WorkerProcess(1, WORKER) as worker:
            kinds = worker.ask({"op": "model_types"}, TYPE_TIMEOUT_S)["kinds"]
            waiting = [name for name in only or kinds if name not in done] if waiting is None else waiting
            while waiting:
                model_type = waiting.pop(0)
                line = _traced(worker, model_type, added.get(model_type, {}))
                yield {"model_type": model_type, "kind": kinds[model_type]} | line
                if line.get("died"):
                    break


def _traced(worker: WorkerProcess, model_type: str, added: dict[str, Any]) -> dict[str, Any]:
    request = {
        "op": "trace_any",
        "config": {"model_type": model_type} | added,
        "phases": PHASES,
        "dtype": "bf16",
    }
    start_s = time.monotonic()
    try:
        answer = worker.ask(request, TYPE_TIMEOUT_S)
    except WorkerError as fault:
        return {"ok": False, "reason": str(fault)[:300], "died": True}
    if not answer["ok"]:
        return {"ok": False, "reason": str(answer["reason"])[:300]}
    return {
        "ok": True,
        "seconds": round(time.monotonic() - start_s, 2),
        "parameters": answer["parameters"],
        "layers": sum(len(each["indices"]) for each in answer["classes"]),
        "classes": [[each["name_hint"], len(each["indices"])] for each in answer["classes"]],
        "ops": len(answer["ops"]),
        "regions": sorted({op["aten"] for op in answer["ops"] if op["aten"].startswith("region.")}),
    }


if __name__ == "__main__":
    main()
