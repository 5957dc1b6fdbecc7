"""The gated delta rule of Transformers' Qwen3-Next models, called as their forward calls it."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from profiling.backends.recurrent_operands import Operands

MODELS = "transformers.models.qwen3_next.modeling_qwen3_next"


def function(name: str) -> Callable[..., Any]:
    """The function of that name.

    Raises:
        ServingSimError: E_TOOLCHAIN, where the installed version has none.
    """
    found: Callable[..., Any] | None = getattr(importlib.import_module(MODELS), name, None)
    if found is None:
        raise ServingSimError(
            f"the installed Transformers has no {name} in {MODELS}",
            code="E_TOOLCHAIN",
            hint="install Transformers 5, or use the backend torch",
        )
    return found


def call(run: Callable[..., Any], operands: Operands) -> Callable[[], Any]:
    """One launch, from the state and to the next one."""
    return partial(
        run,
        operands.query,
        operands.key,
        operands.value,
        g=operands.log_decay,
        beta=operands.beta,
        initial_state=operands.state,
        output_final_state=True,
        use_qk_l2norm_in_kernel=True,
    )
