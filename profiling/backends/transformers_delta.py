"""The gated delta rule of Transformers' Qwen3-Next models, called as their forward calls it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends.transformers_function import function_of

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
    return function_of(MODELS, name)


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
