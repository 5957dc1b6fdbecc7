"""The cache that a step of a real model starts from: keys and values of the context, states of recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from profiling.forward_case import ForwardCase

KEY_VALUE = 0.01
"""Of every cached key and value: any number that is neither denormal nor infinite."""


def context_cache(
    torch: Any,  # noqa: ANN401 - the module
    config: Any,  # noqa: ANN401 - a transformers config
    case: ForwardCase,
    context_len: int,
    step: Callable[[Any, Any], Any],
) -> Any:  # noqa: ANN401 - a transformers cache
    """A `DynamicCache` with so many tokens of every request in it.

    One token goes through the model, which gives every layer its keys or its state; layers that keep keys are then
    filled up. A context of no tokens is an empty cache.

    Args:
        torch: The module.
        config: The model's.
        case: How many requests.
        context_len: Tokens of each.
        step: Runs the model on token ids and a cache.
    """
    from transformers import DynamicCache  # noqa: PLC0415 - only ever in a worker process

    cache = DynamicCache(config=config)
    if not context_len:
        return cache
    step(torch.zeros(case.batch_size, 1, dtype=torch.long), cache)
    for layer in cache.layers:
        keys = getattr(layer, "keys", None)
        if keys is None or keys.numel() == 0 or context_len == 1:
            continue
        shape = (*keys.shape[:-2], context_len - 1, keys.shape[-1])
        value_shape = (*shape[:-1], layer.values.shape[-1])
        layer.update(
            torch.full(shape, KEY_VALUE, dtype=keys.dtype, device=keys.device),
            torch.full(value_shape, KEY_VALUE, dtype=keys.dtype, device=keys.device),
        )
    return cache
