"""One table from its files to distinct, judged rows. Nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import TypeAdapter, ValidationError

from profiling.importers.aiconfigurator import suspicion
from profiling.importers.aiconfigurator.columns import BoolArray, Columns, FloatArray, IntArray, Text
from profiling.importers.aiconfigurator.file_reader import Wanted, read_columns
from profiling.importers.aiconfigurator.judge import Judge
from profiling.importers.aiconfigurator.merge import Merged, first_ranked, merge
from profiling.importers.aiconfigurator.spikes import SPIKE, spikes
from profiling.importers.aiconfigurator.system_device import known_device
from profiling.registry import kind_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiling.contract import KernelKind
    from profiling.importers.aiconfigurator.plan import Plan, SourceFile, TableSource
    from profiling.importers.aiconfigurator.table import Args
    from profiling.importers.report import RowGroup

MAX_NAME = 256


@dataclass(frozen=True)
class Taken:
    """The rows of one table, before and after merging.

    Attributes:
        columns: Every row of the table's operations, as it was read.
        file_rows: Rows of each file, all operations together.
        other_operations: Rows of other operations by name.
        refused: Refused rows by reason.
        superseded: Rows of a reused version whose shape the version itself has.
        rows: Index into `columns` of each distinct shape's first row.
        args: Args fields of the distinct shapes.
        merged: Times and spreads of the distinct shapes.
        device: Device of each distinct shape.
        backend: Backend of each distinct shape.
        outliers: Suspicious shapes by reason.
    """

    source: TableSource
    kind: KernelKind
    columns: Columns
    file_rows: IntArray
    other_operations: Mapping[str, int]
    refused: Mapping[str, RowGroup]
    superseded: int
    rows: IntArray
    args: Args
    merged: Merged
    device: Text
    backend: Text
    outliers: Mapping[str, BoolArray]


def take(source: TableSource, plan: Plan) -> Taken:
    """Read, convert, refuse, merge and judge the rows of a table.

    Args:
        source: The table and its files.
        plan: What holds where rows do not say.

    Raises:
        ServingSimError: E_INPUT or E_PATH for a file that is damaged or lacks a column.
    """
    kind = kind_named(source.table.kind)
    everything = read(source, plan)
    columns, others = _operations(source, everything)
    judge = Judge(columns)
    time_ms = judge.time_ms(source.table.time_column, source.table.time_unit_ms)
    args = source.table.args(judge)
    device, backend = _device(judge), _backend(judge, source)
    _refuse_out_of_range(judge, kind, args)
    usable = np.flatnonzero(judge.kept)
    rows = usable[_preferred(source, columns, [device, *args.values()], usable)]
    kept = {"device": device, "backend": backend, **args}
    merged = merge([_codes(values)[rows] for values in kept.values()], time_ms[rows])
    first = rows[merged.first]
    shapes, device, backend = select(args, first), device.take(first), backend.take(first)
    outliers = _outliers(kind, shapes, merged, device, plan)
    sticking_out = spikes(
        {"backend": backend, "device": device, **shapes}, source.table.grows_with, merged.median_ms
    )
    return Taken(
        source=source,
        kind=kind,
        columns=columns,
        file_rows=np.bincount(everything.file, minlength=len(source.files)),
        other_operations=others,
        refused=judge.refused(),
        superseded=len(usable) - len(rows),
        rows=first,
        args=shapes,
        merged=merged,
        device=device,
        backend=backend,
        outliers=_with_spikes(outliers, sticking_out),
    )


def read(source: TableSource, plan: Plan) -> Columns:
    """All rows of a table's files."""
    return Columns.concatenate(
        [read_columns(file.path, _wanted(source, file, plan)) for file in source.files]
    )


def select(args: Args, rows: IntArray) -> Args:
    """Args fields of some rows."""
    return {
        name: values.take(rows) if isinstance(values, Text) else values[rows] for name, values in args.items()
    }


def _preferred(
    source: TableSource, columns: Columns, shape: Sequence[IntArray | Text], rows: IntArray
) -> BoolArray:
    """Which of some rows are not superseded by a version that comes before theirs."""
    if not source.ranked or len(source.files) == 1:
        return np.ones(len(rows), dtype=np.bool_)
    return first_ranked([_codes(values)[rows] for values in shape], columns.file[rows])


def _codes(values: IntArray | Text) -> IntArray:
    return values.codes if isinstance(values, Text) else values


def _wanted(source: TableSource, file: SourceFile, plan: Plan) -> Wanted:
    table = source.table
    return Wanted(
        numbers=(*table.numbers, table.time_column),
        texts=table.texts,
        optional_numbers=table.optional_numbers,
        optional_texts={
            table.operation_column: min(table.operations),
            table.kernel_column: "default",
            "device": plan.device,
            "framework": source.framework or plan.stack,
            "version": file.version or plan.version,
        },
    )


def _operations(source: TableSource, columns: Columns) -> tuple[Columns, dict[str, int]]:
    """The rows of the table's own operations, and how many others there are."""
    operation = columns.texts[source.table.operation_column]
    own = np.array([name in source.table.operations for name in operation.names])[operation.codes]
    others = operation.take(~own)
    counts = np.bincount(others.codes, minlength=len(operation.names))
    return columns.take(own), {
        name: int(count) for name, count in zip(operation.names, counts, strict=True) if count
    }


def _device(judge: Judge) -> Text:
    device = _name(judge, "device")
    judge.refuse_texts(device, lambda name: "" if name else "device is missing: name it with --device-name")
    return device


def _backend(judge: Judge, source: TableSource) -> Text:
    """`<framework>-<version>:<kernel>`, with what the rows say where the source does not."""
    prefix = source.table.kernel_prefix
    kernel = _name(judge, source.table.kernel_column).map(lambda name: prefix + (name or "default"))
    framework, version = _name(judge, "framework"), _name(judge, "version")
    if source.framework:
        label = f"{source.framework}-{source.version}"
        return kernel.map(lambda name: f"{label}:{name}")
    libraries = source.table.libraries
    if libraries:
        framework = kernel.map(lambda name: name.lower() if name.lower() in libraries else libraries[0])
    judge.refuse_texts(framework, lambda name: "" if name else "framework is missing: name it with --stack")
    judge.refuse_texts(version, lambda name: "" if name else "version is missing: name it with --version")
    return Text.join([framework, version, kernel], lambda *parts: f"{parts[0].lower()}-{parts[1]}:{parts[2]}")


def _name(judge: Judge, column: str) -> Text:
    """A text that becomes part of a key."""
    text = judge.columns.texts[column]
    why = f"{column} is no printable name of at most {MAX_NAME} characters"
    judge.refuse_texts(text, lambda name: "" if name.isprintable() and len(name) <= MAX_NAME else why)
    return text.map(str.strip)


def _refuse_out_of_range(judge: Judge, kind: KernelKind, args: Args) -> None:
    """Refuse what the kind's own args model does not allow; each distinct value of a field is asked once."""
    for name, field in kind.args.model_fields.items():
        adapter: TypeAdapter[object] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]
        values = args[name]
        if isinstance(values, Text):
            judge.refuse_texts(values, partial(_why, name, adapter))
            continue
        distinct, places = np.unique(values, return_inverse=True)
        why = Text(places, tuple(_why(name, adapter, value) for value in distinct.tolist()) or ("",))
        judge.refuse_texts(why, str)


def _why(name: str, adapter: TypeAdapter[object], value: int | str) -> str:
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        return f"{name}: {error.errors(include_url=False, include_input=False)[0]['msg']}"
    return ""


def _outliers(kind: KernelKind, args: Args, merged: Merged, device: Text, plan: Plan) -> dict[str, BoolArray]:
    """Suspicious shapes by reason, each device judged by its own limits."""
    found: dict[str, BoolArray] = {}
    for name in device.present():
        rows = np.flatnonzero(device.codes == device.names.index(name))
        time_ms: FloatArray = merged.median_ms[rows]
        reasons = suspicion.reasons(
            kind, select(args, rows), time_ms, merged.spread[rows], known_device(plan, name)
        )
        for reason, suspicious in reasons.items():
            found.setdefault(reason, np.zeros(len(merged), dtype=np.bool_))[rows[suspicious]] = True
    return found


def _with_spikes(outliers: Mapping[str, BoolArray], sticking_out: BoolArray) -> dict[str, BoolArray]:
    """One reason a row: what is below a limit is no spike."""
    rest = sticking_out.copy()
    for rows in outliers.values():
        rest &= ~rows
    return {**outliers, **({SPIKE: rest} if rest.any() else {})}
