"""A serving report as files: the report itself, and what people read of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.serving_page.page import html_page
from server.whole_file import plain_json, write_whole
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.sim.results.report import ServingReport

STEM = "serving"


def write_report(report: ServingReport, folder: Path) -> list[Path]:
    """`serving.json` and `serving.html` in a folder, each whole or not at all.

    Raises:
        ServingSimError: E_PATH, the folder cannot be written.
    """
    contents = {
        "json": plain_json(report.model_dump(mode="json"), indent=1) + b"\n",
        "html": html_page(report).encode("utf-8", "replace"),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, data in contents.items():
            write_whole(folder / f"{STEM}.{ending}", data)
    except OSError as error:
        raise ServingSimError(
            f"cannot be written: {error.strerror or error}", code="E_PATH", path=str(folder), hint="--out DIR"
        ) from error
    return [folder / f"{STEM}.{ending}" for ending in contents]
