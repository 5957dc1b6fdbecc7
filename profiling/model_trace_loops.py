"""Recurrences that modelling code runs as Python loops over tokens, with no dispatch point of Transformers' own.

They are named here one by one, since nothing in the code marks them; each is one operation of a trace.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profiling.model_trace_regions import Regions

LOOPS = (
    ("", "rwkv_linear_attention", "rwkv_scan"),
    ("RecurrentGemmaRglru", "_rnn_scan", "gated_linear_recurrence"),
    ("xLSTMBackend", "forward", "mlstm_scan"),
    ("Qwen4ExpTextQSAIndexer", "forward", "indexer"),
)
"""The class of a method, empty for a function of the module; the function; and the region's name."""


def keep_loops_whole(model: Any, regions: Regions) -> None:  # noqa: ANN401 - a transformers model
    """Take the loops of a model's own modelling file over."""
    module = sys.modules[type(model).__module__]
    for owner, function, region in LOOPS:
        place = getattr(module, owner, None) if owner else module
        plain = getattr(place, function, None)
        if plain is not None and not hasattr(plain, "region"):
            setattr(place, function, regions.keep(region, plain, plain))
