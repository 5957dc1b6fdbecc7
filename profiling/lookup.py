"""Times of given shapes from the store, per backend, measuring what is missing where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from profiling.device import LocalDevice, local_devices, local_named, not_runnable
from profiling.measure import measure
from profiling.paths import default_db
from profiling.plan import RunSettings
from profiling.registry import backends, unknown
from profiling.specs import Spec, validate
from profiling.store import Store
from servingsim.errors import ServingSimError
from servingsim.timing.source import ArgValue

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.contract import KernelKind

Times = list[float | None]
Specs = Sequence[Mapping[str, ArgValue]]


def stored_times(
    kind: KernelKind, specs: Specs, *, backend: str | None, device: str | None, db: str | Path | None
) -> dict[str, Times]:
    """Times per backend; a file that does not exist yet has none.

    Raises:
        ServingSimError: For specs that are not valid, an unknown backend, or a file that is no store.
    """
    valid = _valid(kind, specs)
    with Store.open(db or default_db(), create=True, read_only=True) as store:
        name = device or device_at_hand(kind, backend).name
        return {
            candidate: _times(store, kind, valid, name, candidate)
            for candidate in _named(store, kind, name, backend)
        }


def measured_times(
    kind: KernelKind, specs: Specs, *, backend: str | None, device: str | None, db: str | Path | None
) -> dict[str, Times]:
    """As `stored_times`, after measuring the shapes without a row; without `backend`, with every one that
    runs here.

    Raises:
        ServingSimError: Also E_NO_GPU, for a device that is not at hand.
    """
    here = local_named(device) if device else device_at_hand(kind, backend)
    if here is None:
        raise ServingSimError(
            f"device {device!r} is not at hand: nothing can be measured on it",
            code="E_NO_GPU",
            known=f"devices here: {', '.join(local.name for local in local_devices())}",
            hint="call without jit, or on the machine that has it",
        )
    settings = RunSettings(threads=here.threads or None, device_type=here.type)
    with Store.open(db or default_db(), create=True) as store:
        for candidate in [backend] if backend else _running(kind, here):
            measure(store, kind.name, candidate, specs, settings=settings)
    return stored_times(kind, specs, backend=backend, device=here.name, db=db)


def device_at_hand(kind: KernelKind, backend: str | None) -> LocalDevice:
    """The first device of this machine that the backend runs on, or the first where it runs on none."""
    here = local_devices()
    runner = backends().get((kind.name, backend or ""))
    fitting = [device for device in here if runner is None or device.type in runner.devices]
    return (fitting or here)[0]


def _named(store: Store, kind: KernelKind, device: str, backend: str | None) -> list[str]:
    """The backend asked for, or all that have rows on the device or run on it here."""
    stored = {count.backend for count in store.counts() if (count.kind, count.device) == (kind.name, device)}
    if backend is None:
        here = local_named(device)
        return sorted(stored | set(_running(kind, here) if here else []))
    known = stored | {name for of_kind, name in backends() if of_kind == kind.name}
    if backend not in known:
        raise unknown(f"backend of {kind.name}", backend, sorted(known), hint="python -m profiling list")
    return [backend]


def _running(kind: KernelKind, here: LocalDevice) -> list[str]:
    return [
        name
        for (of_kind, name), backend in backends().items()
        if of_kind == kind.name and not not_runnable(backend, [here])
    ]


def _times(store: Store, kind: KernelKind, specs: Sequence[Spec], device: str, backend: str) -> Times:
    rows = store.rows(kind.name, device=device, backend=backend)
    by_args = {tuple(row[name] for name in kind.fields): float(row["median_ms"]) for row in rows}
    return [by_args.get(tuple(spec.values())) for spec in specs]


def _valid(kind: KernelKind, specs: Specs) -> list[Spec]:
    return [validate(kind, spec, where=f"spec {index}") for index, spec in enumerate(specs)]
