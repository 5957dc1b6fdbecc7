"""From a config to a model that the simulator prices: facts, division, rows, the table as an architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.archs.explore import read_model
from servingsim.archs.table_model import TableModel
from servingsim.timing.registry import kernels
from skills.split_model.catalogue.find import catalogue_of
from skills.split_model.compile import compiled
from skills.split_model.rank import rank_of
from skills.split_model.rows.model import model_rows
from skills.split_model.rows.writer import Site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from servingsim.archs.model_facts import ModelFacts
    from servingsim.timing.contract import Dtype, KernelKind

BOTH = ("prefill", "decode")
QUANTISES = "_quant"
"""Rows that quantise a projection's input: launches of their own in an engine, and part of every measured fp8 layer.

With 4,096 rows or more, at most 512 columns and a depth of 4,096 or more, fp8 layers take 1.6 to 2.6 times as long as
bf16 ones in the tables of SGLang, TensorRT-LLM and vLLM on H100 and H200, 3.6 times on B200, with half the bytes of
weights: they were measured as the engine calls them. Priced again beside them, the launches would count twice.
"""


def read_table(
    path: Path,
    *,
    stack: str,
    tp: int = 1,
    ep: int = 1,
    dtype: Dtype | None = None,
    kv_dtype: Dtype | None = None,
    launches_apart: bool = False,
) -> TableModel:
    """The model of a config.json or its folder, on one rank of a stack.

    Args:
        path: The file or its folder; an `hf_quant_config.json` beside it is read too.
        stack: Whose launches the rows are.
        tp: Ranks that share attention and dense layers.
        ep: Ranks that the experts are spread over.
        dtype: Takes the place of the config's.
        kv_dtype: Of the cache; None for what the config says.
        launches_apart: Whether times are of single launches, as a capture's are: then what quantises the input of an
            fp8 layer is priced by itself. Measured tables hold it in the layer.

    Raises:
        ServingSimError: No decoder, a stack without a catalogue, a parallelism that does not fit, or a row that nothing
            counts.
    """
    facts = read_model(path, dtype=dtype)
    return table_model(facts, stack=stack, tp=tp, ep=ep, kv_dtype=kv_dtype, launches_apart=launches_apart)


def table_model(
    facts: ModelFacts,
    *,
    stack: str,
    tp: int = 1,
    ep: int = 1,
    kv_dtype: Dtype | None = None,
    kinds: Mapping[str, KernelKind[Any, Any]] | None = None,
    launches_apart: bool = False,
) -> TableModel:
    """Facts to a model of rows, see `read_table`; `kinds` are those that exist, by default all of them."""
    known = kernels() if kinds is None else kinds
    catalogue, cached = catalogue_of(stack), kv_dtype or facts.kv_dtype
    rank = rank_of(facts, catalogue, tp=tp, ep=ep, kv_dtype=cached)
    table = compiled(model_rows(Site(rank, catalogue, known, BOTH)), known)
    rows = tuple(row for row in table.rows if launches_apart or not row.op.endswith(QUANTISES))
    inside = len(table.rows) - len(rows)
    return TableModel(
        facts=facts,
        rows=rows,
        stack=stack,
        tp=tp,
        ep=ep,
        kv_dtype=cached,
        absorbs="absorb" in catalogue.merges,
        left_out=table.left_out,
        notes=(
            *(f"{name}: {kind} stands in for {wanted}" for name, wanted, kind in table.stood_in),
            *(
                [f"inputs of fp8 layers are quantised inside the rows of these ({inside} launches)"]
                * bool(inside)
            ),
        ),
    )
