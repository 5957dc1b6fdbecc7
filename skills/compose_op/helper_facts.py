"""How the pure helper of one slot behaves: same answer twice, the kernel's own Config, mapped fields followed."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from servingsim.timing.registry import kernels
from skills.compose_op.facade import replaced

if TYPE_CHECKING:
    from types import ModuleType


def helper_facts(module: ModuleType, sub: dict[str, Any], config: Any) -> dict[str, Any]:  # noqa: ANN401 - the op's class
    """Look at `<slot>_config`.

    Returns:
        `usable`: it gave the kernel's Config; `faults`: what is wrong with it, none where it is right.
    """
    name, kind = f"{sub['slot']}_config", kernels()[sub["kind"]]
    helper = getattr(module, name, None)
    if not inspect.isfunction(helper):
        return {"usable": False, "faults": [f"no function {name}(config)"]}
    if len(inspect.signature(helper).parameters) != 1:
        return {"usable": False, "faults": [f"{name} takes more than the op's Config: it cannot be pure"]}
    try:
        first, second = helper(config), helper(config)
    except Exception as error:  # noqa: BLE001 - whatever the code under test raises is a finding about it
        return {"usable": False, "faults": [f"{name}: {type(error).__name__}: {error}"[:300]]}
    if not isinstance(first, kind.config):
        given = type(first).__name__
        return {"usable": False, "faults": [f"{name} gives a {given}, not a {kind.config.__name__}"]}
    faults = [] if first == second else [f"{name} gives another Config the second time"]
    return {"usable": True, "faults": faults + _unfollowed(helper, sub["config"], config)}


def _unfollowed(helper: Any, mapping: dict[str, str], config: Any) -> list[str]:  # noqa: ANN401 - a function
    faults = []
    for outer, inner in mapping.items():
        if not hasattr(config, outer):
            faults.append(f"{outer}: no field of the op's Config")
            continue
        own = getattr(config, outer)
        for value in (own, "another" if inner == "gpu_name" else _other(own)):
            try:
                got = getattr(helper(replaced(config, **{outer: value})), inner)
            except Exception:  # noqa: BLE001, S112 - a value that the kernel refuses proves nothing
                continue
            if got != value:
                faults.append(f"{outer} {value!r} reaches the kernel as {inner} {got!r}")
                break
    return faults


def _other(value: Any) -> Any:  # noqa: ANN401 - any field's value
    if type(value) is int:
        return value * 2 or 64
    if isinstance(value, tuple):
        return ("another",)
    return value
