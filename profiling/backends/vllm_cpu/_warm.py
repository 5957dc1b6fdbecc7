"""Calls that are run once before anything is timed: oneDNN compiles a kernel for every new number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from profiling.backends.tensors import Tensors
    from profiling.contract import Launch


def warmed(tensors: Tensors, calls: Sequence[Callable[[], Any]]) -> Launch:
    """The launch of calls that have all run: an engine has seen its shapes before long."""
    with tensors.torch.inference_mode():
        for call in calls:
            call()
    return tensors.launch(calls)
