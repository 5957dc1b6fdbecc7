"""What a CPU does between two launches of a kernel in a forward pass: it streams the weights of other layers.

That leaves the caches of each core without the code and the data of the launch before, and the threads awake. It
matters for small kernels: measured in a decode step of a 0.6 B model, an eager rms_norm of one token takes 50 µs; in
a loop by itself 21 µs; after streaming weights 46 to 53 µs; after displacing the whole last-level cache 90 µs. Dense
layers, whose own weights stream, take as long either way.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import rotation

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from profiling.contract import Setting

WIDTH = 1024
LAYER_BYTES = 8 * 2**20
"""Streamed each time: more than the caches of the cores, less than the last level."""
BF16_BYTES = 2


def weights(torch: ModuleType, setting: Setting) -> Callable[[], object]:
    """Runs a dense layer of one token over weights that no cache holds."""
    cache_bytes = setting.last_level_cache_bytes or rotation.ASSUMED_CACHE_BYTES
    layers = rotation.CACHES * cache_bytes // LAYER_BYTES + 1
    with torch.inference_mode():
        token = torch.ones(1, WIDTH, dtype=torch.bfloat16)
        shape = (layers, LAYER_BYTES // WIDTH // BF16_BYTES, WIDTH)
        turns = itertools.cycle(torch.ones(shape, dtype=torch.bfloat16).unbind(0))
    linear = partial(torch.nn.functional.linear, token)
    return lambda: linear(next(turns))
