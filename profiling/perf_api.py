"""Measured times for programs: `get_<kind>_times` and `count_missing_<kind>` for every kind that exists.

    from profiling import perf_api
    specs = [{"m": 16, "n": 256, "k": 128, "dtype": "bf16"}]
    perf_api.get_single_gemm_times(specs, backend="torch", db="h100.db")

Both take a sequence of args objects and answer in its order. With `backend` they answer for that backend;
without, with a dict of every backend that could answer: those with rows on the device and those that run
there. `device` is a device key; None is the device at hand on which the backend runs (a GPU before the CPU).
`db` is a path; None is `$SERVINGSIM_DB`, else `servingsim.db` in the current folder. Times are milliseconds,
None where there is no row. `get_<kind>_times` refuses a file that is not there; with `jit=True` it measures
what is missing first, which needs the device at hand and writes to the store. `count_missing_<kind>` counts
everything as missing where there is no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, overload

from profiling.lookup import Specs, Times, measured_times, stored_times
from profiling.paths import default_db
from profiling.registry import kinds
from profiling.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.contract import KernelKind


class GetTimes(Protocol):
    """Type of `get_<kind>_times`."""

    @overload
    def __call__(
        self,
        specs: Specs,
        *,
        backend: str,
        device: str | None = None,
        db: str | Path | None = None,
        jit: bool = False,
    ) -> Times: ...
    @overload
    def __call__(
        self,
        specs: Specs,
        *,
        backend: None = None,
        device: str | None = None,
        db: str | Path | None = None,
        jit: bool = False,
    ) -> dict[str, Times]: ...


class CountMissing(Protocol):
    """Type of `count_missing_<kind>`."""

    @overload
    def __call__(
        self, specs: Specs, *, backend: str, device: str | None = None, db: str | Path | None = None
    ) -> int: ...
    @overload
    def __call__(
        self, specs: Specs, *, backend: None = None, device: str | None = None, db: str | Path | None = None
    ) -> dict[str, int]: ...


def __getattr__(name: str) -> Any:  # noqa: ANN401 - GetTimes or CountMissing, by the name
    for kind in kinds().values():
        if name == f"get_{kind.name}_times":
            return _get_times(kind)
        if name == f"count_missing_{kind.name}":
            return _count_missing(kind)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; kinds: {', '.join(kinds())}")


def __dir__() -> list[str]:
    generated = [text for kind in kinds() for text in (f"get_{kind}_times", f"count_missing_{kind}")]
    return sorted([*globals(), *generated])


def _get_times(kind: KernelKind) -> GetTimes:
    def get_times(
        specs: Specs,
        *,
        backend: str | None = None,
        device: str | None = None,
        db: str | Path | None = None,
        jit: bool = False,
    ) -> Any:  # noqa: ANN401 - GetTimes has the overloads
        path = db or default_db()
        if not jit:
            Store.open(
                path, read_only=True
            ).close()  # a file that is not there is a wrong path, not a missing row
        answer = measured_times if jit else stored_times
        found = answer(kind, specs, backend=backend, device=device, db=path)
        return found if backend is None else found[backend]

    get_times.__name__ = get_times.__qualname__ = f"get_{kind.name}_times"
    get_times.__doc__ = f"Times of {kind.name} (args {', '.join(kind.fields)}) in ms; see the module's text."
    return get_times


def _count_missing(kind: KernelKind) -> CountMissing:
    def count_missing(
        specs: Specs, *, backend: str | None = None, device: str | None = None, db: str | Path | None = None
    ) -> Any:  # noqa: ANN401 - CountMissing has the overloads
        found = stored_times(kind, specs, backend=backend, device=device, db=db)
        counts = {name: times.count(None) for name, times in found.items()}
        return counts if backend is None else counts[backend]

    count_missing.__name__ = count_missing.__qualname__ = f"count_missing_{kind.name}"
    count_missing.__doc__ = f"How many specs of {kind.name} (args {', '.join(kind.fields)}) have no row."
    return count_missing
