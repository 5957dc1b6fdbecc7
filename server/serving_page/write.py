"""A serving report as files: the report itself, and what people read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.serving_page.page import html_page
from server.serving_page.read import STEM
from server.whole_file import plain_json, write_whole
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from servingsim.sim.results.report import ServingReport


def write_report(report: ServingReport, folder: Path) -> list[Path]:
    """`serving.json` and `serving.html` in a folder, each whole or not at all.

    Raises:
        ServingSimError: E_PATH, the folder cannot be written.
    """
    files = {
        folder / f"{STEM}.json": plain_json(report.model_dump(mode="json"), indent=1) + b"\n",
        folder / f"{STEM}.html": html_page(report).encode("utf-8", "replace"),
    }
    write_files(files)
    return list(files)


def write_files(files: Mapping[Path, bytes]) -> None:
    """Each whole or not at all; folders are made.

    Raises:
        ServingSimError: E_PATH, one cannot be written.
    """
    for path, data in files.items():
        try:
            write_whole(path, data)
        except OSError as error:
            raise ServingSimError(
                f"cannot be written: {error.strerror or error}",
                code="E_PATH",
                path=str(path),
                hint="name another place",
            ) from error
