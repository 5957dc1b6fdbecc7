"""Where the store lies when nobody says."""

from __future__ import annotations

import os
from pathlib import Path

DB_VARIABLE = "SERVINGSIM_DB"


def default_db() -> Path:
    """`$SERVINGSIM_DB`, else `servingsim.db` in the current folder."""
    return Path(os.environ.get(DB_VARIABLE) or "servingsim.db")
