"""A table in memory as numpy columns: numbers as float64, texts as codes into their distinct values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Text:
    """A column of texts: row i is `names[codes[i]]`. A missing text is empty."""

    codes: IntArray
    names: tuple[str, ...]

    def at(self, row: int) -> str:
        """The text of a row."""
        return self.names[int(self.codes[row])]

    def take(self, rows: IntArray | BoolArray) -> Text:
        """The rows of a mask or an index, in its order."""
        return Text(self.codes[rows], self.names)

    def map(self, change: Callable[[str], str]) -> Text:
        """Every text changed; each distinct value is asked once."""
        changed = [change(name) for name in self.names]
        places = {name: place for place, name in enumerate(dict.fromkeys(changed))}
        lookup = np.array([places[name] for name in changed], dtype=np.int64)
        return Text(lookup[self.codes], tuple(places))

    def present(self) -> list[str]:
        """The distinct texts that rows really have, sorted."""
        return sorted(self.names[code] for code in np.unique(self.codes))

    @staticmethod
    def constant(name: str, rows: int) -> Text:
        """One text for all rows."""
        return Text(np.zeros(rows, dtype=np.int64), (name,))

    @staticmethod
    def join(parts: Sequence[Text], combine: Callable[..., str]) -> Text:
        """One text a row from several, `combine` asked once for each combination that occurs."""
        codes = np.zeros(len(parts[0].codes), dtype=np.int64)
        for part in parts:
            # Compact after each step, so that the product of many alphabets cannot overflow.
            _, codes = np.unique(codes * max(1, len(part.names)) + part.codes, return_inverse=True)
        _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
        return Text(codes, tuple(combine(*(part.at(int(row)) for part in parts)) for row in first))

    @staticmethod
    def concatenate(parts: Sequence[Text]) -> Text:
        """The rows of all, in order."""
        places: dict[str, int] = {}
        codes = []
        for part in parts:
            lookup = [places.setdefault(name, len(places)) for name in part.names]
            codes.append(np.array(lookup, dtype=np.int64)[part.codes])
        return Text(np.concatenate(codes), tuple(places))


Column = FloatArray | IntArray | Text


@dataclass(frozen=True)
class Columns:
    """Some columns of one or more files.

    `file` says for each row which of the files it comes from.
    """

    numbers: Mapping[str, FloatArray]
    texts: Mapping[str, Text]
    file: IntArray

    def __len__(self) -> int:
        return len(self.file)

    def take(self, rows: BoolArray) -> Columns:
        """The rows of a mask."""
        return Columns(
            {name: values[rows] for name, values in self.numbers.items()},
            {name: values.take(rows) for name, values in self.texts.items()},
            self.file[rows],
        )

    def show(self, row: int) -> str:
        """A row as `name=value` pairs, for a message."""
        texts = [f"{name}={text.at(row)}" for name, text in self.texts.items()]
        numbers = [f"{name}={values[row]:.10g}" for name, values in self.numbers.items()]
        return " ".join(texts + numbers)

    @staticmethod
    def concatenate(parts: Sequence[Columns]) -> Columns:
        """The rows of several files; all parts have the same columns."""
        return Columns(
            {name: np.concatenate([part.numbers[name] for part in parts]) for name in parts[0].numbers},
            {name: Text.concatenate([part.texts[name] for part in parts]) for name in parts[0].texts},
            np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        )
