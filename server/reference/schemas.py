"""`schemas/`: JSON schemas of what programs read and write, from the models that make or check it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic.json_schema import GenerateJsonSchema

from profiling.importers.report import ImportReport
from profiling.registry import kinds
from profiling.report import MeasureReport
from server.align.report import AlignReport
from server.align.served_report import ServedReport
from server.batch_text import BatchFile
from server.demo.report import DemoReport
from server.reference import answers
from servingsim.sim.report import MissingRows, PredictReport
from servingsim.sim.results.report import ServingReport
from servingsim.timing.fidelity.report import FidelityReport
from servingsim.timing.registry import kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

FOLDER = Path("schemas")
DIALECT = "https://json-schema.org/draft/2020-12/schema"

ANSWERS: dict[str, type[BaseModel]] = {
    "align": AlignReport,
    "align_requests": ServedReport,
    "bench": answers.BenchFigures,
    "demo": DemoReport,
    "error": answers.ErrorAnswer,
    "fidelity": FidelityReport,
    "kernel_query_eval": answers.EvalAnswer,
    "kernel_query_grid": answers.GridAnswer,
    "kernel_query_list": answers.KernelListAnswer,
    "predict": PredictReport,
    "predict_missing": MissingRows,
    "profiling_count_missing": answers.CountMissingAnswer,
    "profiling_devices": answers.DevicesAnswer,
    "profiling_import": ImportReport,
    "profiling_list": answers.ListAnswer,
    "profiling_query": answers.QueryAnswer,
    "profiling_run": MeasureReport,
    "simulate": ServingReport,
}
"""Answers by the command that gives them."""

Mode = Literal["serialization", "validation"]


class _Untitled(GenerateJsonSchema):
    """A title that only repeats the field's name says nothing."""

    def field_title_should_be_set(self, schema: object) -> bool:
        """Never."""
        del schema
        return False


def schema_files() -> dict[Path, str]:
    """Text of every schema by its path: answers, the batch of `predict --batch`, and the fields of each kind.

    Raises:
        ServingSimError: A kind cannot be loaded.
    """
    files = {f"{name}.json": _text(model, "serialization") for name, model in ANSWERS.items()}
    files["predict_batch.json"] = _text(BatchFile, "validation")
    files |= dict(_kinds())
    return {FOLDER / name: text for name, text in files.items()}


def _kinds() -> Iterator[tuple[str, str]]:
    for name, measured in kinds().items():
        yield f"kernels/{name}.args.json", _text(measured.args, "validation")
    for name, simulated in kernels().items():
        yield f"kernels/{name}.config.json", _text(simulated.config, "validation")
        yield f"kernels/{name}.input.json", _text(simulated.input, "validation")


def _text(model: type[BaseModel], mode: Mode) -> str:
    schema = {"$schema": DIALECT} | model.model_json_schema(schema_generator=_Untitled, mode=mode)
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
