"""Names that a replay makes anew: what the log called one thing, the arguments of later calls find under another."""

from __future__ import annotations

import re
from typing import Any

OWN = re.compile(r"[a-z][a-z0-9_]{0,39}-\d{8}-[0-9a-f]{6}")


class Renamed:
    """Old names and their new ones, learned from pairs of results."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, old: Any, new: Any, name: str = "") -> None:  # noqa: ANN401 - plain data
        """Take note of every id that stands at the same place of both."""
        if isinstance(old, dict) and isinstance(new, dict):
            for key in old.keys() & new.keys():
                self.learn(old[key], new[key], key)
        elif isinstance(old, list) and isinstance(new, list):
            for one, other in zip(old, new, strict=False):
                self.learn(one, other, name)
        elif isinstance(old, str) and isinstance(new, str) and old and new and old != new:
            own = OWN.fullmatch(old) and OWN.fullmatch(new)
            if own or name in {"id", "report_id", "job_id", "call_id", "campaign_id"}:
                self._names[old] = new

    def apply(self, value: Any) -> Any:  # noqa: ANN401 - plain data
        """The data with the new names: whole texts, and ids within addresses."""
        if isinstance(value, dict):
            return {key: self.apply(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.apply(each) for each in value]
        if isinstance(value, str):
            whole = self._names.get(value)
            return whole or OWN.sub(lambda match: self._names.get(match[0], match[0]), value)
        return value
