"""What to run so that a kernel has the rows it lacks."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from servingsim.errors import CoverageError
from servingsim.validation import did_you_mean

if TYPE_CHECKING:
    from servingsim.timing.contract import KernelConfig, KernelKind
    from servingsim.timing.source import TimingSource


def command(kind: KernelKind[Any, Any], config: KernelConfig, backend: str) -> str:
    """The command that measures the kernel's grid; for an imported backend, the one that imports."""
    if ":" in backend:
        return f"{backend} is known from an import only: import tables that have it, or measure on the device itself"
    spec = json.dumps(_spec(kind, config), separators=(",", ":"))
    run = ["python", "-m", "profiling", "run", kind.table, "--backend", backend or "BACKEND", "--db", "DB"]
    return f"{shlex.join(run)} --spec {shlex.quote(spec)}"


def no_rows(kind: KernelKind[Any, Any], config: KernelConfig, source: TimingSource) -> CoverageError:
    """The refusal of a kernel that no candidate backend has a row of."""
    known = source.backends(kind.table, config.gpu_name)
    fixed = ", ".join(f"{name} {value}" for name, value in kind.fixed(config).items())
    unknown = [name for name in config.backends if name not in known]
    asked = f" of {', '.join(config.backends)}" if config.backends else ""
    questions = [did_you_mean(name, known) for name in unknown]
    present = [name for name in config.backends if name in known]
    to_run = command(kind, config, next(iter((*present, *config.backends, *known)), ""))
    return CoverageError(
        f"no rows{asked} for {kind.kind} with {fixed} on {config.gpu_name!r}",
        known=f"backends with rows of {kind.table} there: {', '.join(known) or 'none'}",
        hint="; ".join([*filter(None, questions), to_run]),
    )


def _spec(kind: KernelKind[Any, Any], config: KernelConfig) -> dict[str, Any]:
    """The whole grid as one sweep; of a masked grid its first line, since a sweep multiplies out."""
    grid = kind.sweep_grid(config)
    feasible = kind.feasible_coordinates(config)
    product = 1
    for values in grid:
        product *= len(values)
    if product != len(feasible):
        first = feasible[0]
        line = [point[-1] for point in feasible if point[:-1] == first[:-1]]
        grid = (*((value,) for value in first[:-1]), tuple(line))
    swept: dict[str, Any] = {
        axis: values[0] if len(values) == 1 else list(values)
        for axis, values in zip(kind.axes, grid, strict=True)
    }
    spec = kind.fixed(config) | swept
    return {name: spec.pop(name) for name in kind.args} | spec
