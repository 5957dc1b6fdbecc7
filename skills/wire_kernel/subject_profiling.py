"""What the profiling registry says about a kind. Runs in the subject's process."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from profiling import perf_api, registry
from servingsim.timing.work import amount

if TYPE_CHECKING:
    from profiling.contract import Backend, KernelKind


def profiled(request: dict[str, Any]) -> dict[str, Any]:
    """Facts of the kind `kind`; `found` false where there is none, with the names that there are."""
    kinds = registry.kinds()
    name = request["kind"]
    if name not in kinds:
        return {"found": False, "kinds": list(kinds)}
    kind = kinds[name]
    runners = {runner: of for (of_kind, runner), of in registry.backends().items() if of_kind == name}
    return {
        "found": True,
        "kinds": list(kinds),
        "name": kind.name,
        "facade": f"get_{name}_times" if hasattr(perf_api, f"get_{name}_times") else "",
        "fields": list(kind.fields),
        "family": kind.family,
        "smoke": kind.smoke,
        "dtype_fields": dict(kind.dtype_fields),
        "schema": kind.args.model_json_schema()["properties"],
        "work": _source(kind),
        "backends": {runner: _runner(of) for runner, of in runners.items()},
    }


def facade(request: dict[str, Any]) -> dict[str, Any]:
    """The time of one spec, through `get_<kind>_times`."""
    get_times = getattr(perf_api, f"get_{request['kind']}_times")
    return {"times": get_times([request["spec"]], backend=request["backend"], db=request["db"])}


def _runner(backend: Backend) -> dict[str, Any]:
    return {
        "devices": list(backend.devices),
        "compute_dtypes": list(backend.compute_dtypes),
        "kv_dtypes": list(backend.kv_dtypes),
        "missing_modules": registry.missing_modules(backend),
    }


def _source(kind: KernelKind) -> dict[str, Any]:
    """Where a draft gets the work model from: a module of the package, or its text."""
    work: Any = kind.work
    if work.__module__.startswith("servingsim.timing.work."):
        return {"module": work.__module__, "name": work.__name__}
    try:
        text = inspect.getsource(work)
    except (OSError, TypeError):
        return {"blocker": "its source cannot be read"}
    names = {*work.__code__.co_names, *"".join(c if c.isidentifier() else " " for c in text).split()}
    known = sorted(name for name in names if hasattr(amount, name) and name in work.__globals__)
    own = sorted(name for name in work.__code__.co_names if name in work.__globals__ and name not in known)
    if own or not text.startswith("def ") or work.__closure__:
        return {"blocker": f"it uses {', '.join(own) or 'a closure'} of its own module"}
    return {"text": text, "name": work.__name__, "imports": known}
