"""Which model a prediction is of: a dense decoder by its own architecture, any other as the table of its split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.hf_config import MODEL_TYPES, json_object, read_facts
from servingsim.errors import ServingSimError
from skills.split_model.catalogue.find import catalogues
from skills.split_model.model_input import STACKS
from skills.split_model.table_model import read_table

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.archs.facts import DenseFacts
    from servingsim.archs.table_model import TableModel
    from servingsim.timing.contract import Dtype


def model_of(
    path: Path,
    *,
    stack: str,
    tp: int,
    ep: int,
    dtype: Dtype | None,
    kv_dtype: Dtype | None,
    launches_apart: bool = False,
) -> DenseFacts | TableModel:
    """Read a model for a prediction.

    Args:
        path: A config.json or its folder.
        stack: The serving stack.
        tp: Ranks that share the model.
        ep: Ranks that the experts are spread over.
        dtype: Takes the place of the config's.
        kv_dtype: Of the cache.
        launches_apart: Whether times are of single launches, as a capture's are, see `read_table`.

    Raises:
        ServingSimError: No decoder, or one whose kernels nothing states for the stack; what is wrong with a
            type that the dense reader knows is said in its words.
    """
    refusal: ServingSimError | None = None
    if stack not in _table_only() and ep == 1:
        try:
            return read_facts(path, dtype=dtype)
        except ServingSimError as error:
            refusal = error
    try:
        return read_table(
            path, stack=stack, tp=tp, ep=ep, dtype=dtype, kv_dtype=kv_dtype, launches_apart=launches_apart
        )
    except ServingSimError as error:
        if refusal is not None and _dense_type(path):
            raise refusal from error
        raise


def _table_only() -> set[str]:
    """Stacks whose launches only the catalogue of splits states."""
    return {name for name in catalogues() if name not in STACKS}


def _dense_type(path: Path) -> bool:
    try:
        data = json_object(path / "config.json" if path.is_dir() else path)
    except ServingSimError:
        return True
    return data.get("model_type") in MODEL_TYPES
