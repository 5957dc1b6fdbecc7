"""The criteria of compose_op: their sentences, once, and how a finding becomes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.report import Criterion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skills.report import Status

TEXTS = {
    "kernels-build": "every kernel that the op uses exists already and builds",
    "slot-inputs": "every leaf's input is in the closed set SLOT_INPUTS and gives its kernel's axes",
    "INV-2.5-1": "an input that maps 1:1 to one kernel input is one atomic Op line, and no file is written",
    "boundary": "it is one op because its kernels share the algorithm's state",
    "INV-6.1": "a collective that parallelism introduces is an atomic op of its own",
    "loads": "the op's file loads, builds, compiles and evaluates within the limits, without a device",
    "scope": "the op is one file and its tests; it adds no kernel and no worklet",
    "INV-4.5": "Config, Input and imports know per-rank facts only, no parallel layout",
    "INV-3.5-3": "the layers above see the op only, never an Input of its kernels",
    "config-expansion": "the op's Config expands to each kernel's Config through a pure helper <slot>_config",
    "fields": "Config and input fields are the declared ones",
    "leaves": "compile mints the declared leaves <op>.<slot> with their kernels, in order",
    "INV-1": "the number of leaves and of pushes is fixed at compile, whatever the number of requests",
    "INV-2": "eval fills the slots in the order of compile, each with its own kernel's cost",
    "aggregate": "aggregate(Sum[...]) reproduces the streamed total of the slots",
    "unit-tests": "the unit tests of the pure helpers pass in a limited process, without a device",
    "unit-tests-assert": "every test asserts something, and each helper's tests notice when it is empty",
}


def said(name: str, status: Status, evidence: str) -> Criterion:
    """A criterion with its sentence."""
    return Criterion(id=name, text=TEXTS[name], status=status, evidence=evidence)


def judged(name: str, faults: Iterable[str], evidence: str) -> Criterion:
    """Fail with the faults where there are any, pass with the evidence otherwise."""
    found = list(faults)
    return said(name, "fail" if found else "pass", "; ".join(found[:5]) if found else evidence)


def unverified(names: Iterable[str], why: str) -> list[Criterion]:
    """Criteria that could not be looked at."""
    return [said(name, "unverified", why) for name in names]
