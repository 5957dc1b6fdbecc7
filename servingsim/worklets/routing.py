"""From a stack's routes to the backends that may price a kernel on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.worklets.stack import split_backend

if TYPE_CHECKING:
    from servingsim.timing.source import TimingSource
    from servingsim.worklets.stack import Route, Stack


def candidates(route: Route, present: tuple[str, ...], stack: str, version: str) -> tuple[str, ...]:
    """Backends to choose the fastest of.

    Imported rows of the stack's frameworks go first; where there is none, the backends that can be measured.

    Args:
        route: The stack's route for the kernel.
        present: Backends that have rows of the kind on the device.
        stack: Name of the stack; its own framework is held to `version`.
        version: Version of the stack in use.
    """
    imported = tuple(
        backend
        for backend in present
        for framework, its_version in [split_backend(backend)]
        if framework in route.frameworks and (framework != stack or its_version == version)
    )
    return (*imported, *route.own) if route.beside else imported or route.own


def resolve_version(stack: Stack, source: TimingSource, device: str, wanted: str | None) -> str:
    """The one version of the stack whose imported rows are used, empty where the device has none.

    Raises:
        ServingSimError: Rows of several versions and none chosen, or none of the chosen one.
    """
    kinds = sorted({route.kind for route in stack.routes})
    present = stack.versions(backend for kind in kinds for backend in source.backends(kind, device))
    if wanted is None and len(present) <= 1:
        return present[0] if present else ""
    if wanted in present:
        return wanted
    raise ServingSimError(
        f"no rows of {stack.name} {wanted} on {device!r}"
        if wanted
        else f"rows of {len(present)} versions of {stack.name} on {device!r}",
        code="E_NOT_FOUND" if wanted else "E_INPUT",
        known=f"versions {', '.join(present)}" if present else f"no version of {stack.name} has rows there",
        hint="choose one with --stack-version"
        if present
        else "import its rows, or leave --stack-version out",
    )
