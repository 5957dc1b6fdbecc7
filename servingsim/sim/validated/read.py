"""Read validated.json: a list of records, written by `make accuracy` from the claims."""

from __future__ import annotations

from functools import cache
from importlib import resources

from pydantic import TypeAdapter, ValidationError

from servingsim.errors import ServingSimError
from servingsim.sim.validated.record import ValidatedRecord

FILE = "validated.json"
RECORDS = TypeAdapter(tuple[ValidatedRecord, ...])


@cache
def read_validated() -> tuple[ValidatedRecord, ...]:
    """The records that come with the package; none where the file is absent.

    Raises:
        ServingSimError: The file holds something else, with the record and field.
    """
    file = resources.files("servingsim") / FILE
    return parse_validated(file.read_text("utf-8"), str(file)) if file.is_file() else ()


def parse_validated(text: str, path: str = FILE) -> tuple[ValidatedRecord, ...]:
    """Records from the text of a file.

    Raises:
        ServingSimError: No such JSON, or one id twice.
    """
    try:
        records = RECORDS.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = f"record {'.'.join(map(str, first['loc']))}" if first["loc"] else "the file"
        raise ServingSimError(
            f"{where}: {first['msg']}", known="a list of records as `make accuracy` writes it", path=path
        ) from error
    seen: set[str] = set()
    for record in records:
        if record.id in seen:
            raise ServingSimError(
                f"two validated records named {record.id!r}", path=path, hint="name each once"
            )
        seen.add(record.id)
    return records
