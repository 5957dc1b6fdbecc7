"""What `capture import` wrote, read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from profiling.captures.capture import KINDS
from profiling.captures.contract import KernelLaunch, Mark, Phase, Reader, Summary
from profiling.captures.kept import NUMBERS, TEXTS, manifest_of
from servingsim.errors import ServingSimError
from servingsim.validation import parse

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.captures.contract import Sink

MAGIC = b"PAR1"
ROWS = 65536
Time = Annotated[int, Field(ge=-(2**62), le=2**62)]
Text = Annotated[str, Field(max_length=5000)]


class KeptMark(BaseModel):
    """A step's annotation."""

    model_config = ConfigDict(frozen=True)

    name: Text
    start_ns: Time
    end_ns: Time
    process: Time
    device: Time
    thread: Time


class KeptSummary(BaseModel):
    """A kernel's total."""

    model_config = ConfigDict(frozen=True)

    name: Text
    calls: Time
    total_ns: Time
    phase: Phase


class Manifest(BaseModel):
    """What stands beside the launches."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: Text
    reader: Text
    facts: dict[Text, Text]
    devices: dict[int, Text]
    damage: dict[Text, int]
    other_marks: int
    marks: list[KeptMark]
    summaries: list[KeptSummary]


def recognises(_path: Path, head: bytes) -> bool:
    """A parquet file."""
    return head.startswith(MAGIC)


def read(path: Path, sink: Sink) -> None:
    """Hand on what was kept.

    Raises:
        ServingSimError: E_INPUT, it is damaged or no kept capture.
    """
    file, raw = manifest_of(path)
    manifest = parse(Manifest, dict(raw), where=f"{path}: its manifest")
    for name, value in {**manifest.facts, "source": manifest.source, "kept_reader": manifest.reader}.items():
        sink.fact(name, value)
    for index, name in manifest.devices.items():
        sink.device(index, name)
    for what, count in manifest.damage.items():
        sink.damaged(what, count)
    for mark in manifest.marks:
        sink.mark(Mark(**mark.model_dump()))
    for summary in manifest.summaries:
        sink.summary(Summary(**summary.model_dump()))
    sink.fact("other_marks", str(manifest.other_marks))
    columns = [*NUMBERS, *TEXTS, "grid"]
    try:
        for batch in file.iter_batches(batch_size=ROWS, columns=columns):
            _tell([batch.column(name).to_pylist() for name in columns], columns, sink)
    except (OSError, ValueError, TypeError, IndexError) as error:
        raise ServingSimError(
            f"is damaged: {error}", path=str(path), hint="import the capture again"
        ) from error


def _tell(columns: list[list[object]], names: list[str], sink: Sink) -> None:
    for row in zip(*columns, strict=True):
        fields = dict(zip(names, row, strict=True))
        kind, graph, grid = fields.pop("kind"), fields.pop("graph"), fields.pop("grid")
        sink.launch(
            KernelLaunch(
                **fields,
                kind=KINDS[int(str(kind))],
                graph=bool(graph),
                grid=tuple(int(each) for each in str(grid).split(",") if each),
            )
        )


READER = Reader("kept_capture", "what `servingsim capture import` wrote", recognises, read)
