"""Rows of the store for people: one table for each device and backend."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import click

from profiling.console import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHOWN = ("median_ms", "p10_ms", "p90_ms", "cv", "samples", "outlier_reason")


def print_rows(fields: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Args and times of rows of one kind; provenance, which they mostly share, above them."""
    columns = (*fields, *SHOWN)
    for title, group in itertools.groupby(rows, key=_title):
        click.echo(title)
        table(columns, [[row[name] for name in columns] for row in group])


def _title(row: dict[str, Any]) -> str:
    framework = f"{row['framework']} {row['framework_version']}".strip()
    return f"{row['device']} · {row['backend']} · {row['origin']} · {framework}"
