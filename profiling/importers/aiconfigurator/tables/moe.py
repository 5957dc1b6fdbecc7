"""`moe`: routed experts of one layer on one rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from profiling.importers.aiconfigurator.dtypes import dtype_column
from profiling.importers.aiconfigurator.table import Args, Table

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.columns import BoolArray, IntArray
    from profiling.importers.aiconfigurator.judge import Judge

SIZES = ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size")

UNGATED_SHAPES = (
    (2688, 1856, 6, 128),
    (1024, 2688, 22, 512),
    (4096, 2688, 22, 512),
    (2048, 5120, 22, 512),
    (8192, 5120, 22, 512),
)
"""(hidden, inter, topk, experts) of the Nemotron 3 models, whose experts have two matrices and no gate.

Some stacks name the kernel so (`..._nongated`), others do not; their times are those of two matrices too (H100, 64
balanced tokens at (2048, 5120, 22, 512): 7.0 ms, where three bf16 matrices of all experts take 9.6 ms to read).
"""


def args(judge: Judge) -> Args:
    """`inter_size` is before the tensor-parallel split, `num_tokens` before routing and over all ranks."""
    sizes = {name: judge.whole(name, least=1) for name in SIZES}
    for name in ("topk", "moe_ep_size"):
        judge.refuse(sizes[name] > sizes["num_experts"], f"{name} is more than num_experts")
    judge.refuse_texts(judge.columns.texts["kernel_source"], _ungated_kernel)
    judge.refuse(
        _ungated_shape(sizes), "experts without a gate (the shape of a Nemotron 3 model): no kind here"
    )
    return {
        **sizes,
        "distribution": judge.columns.texts["distribution"],
        "dtype": dtype_column(judge, "moe_dtype"),
    }


def _ungated_kernel(name: str) -> str:
    return "experts without a gate (the kernel's name says so): no kind here" if "nongated" in name else ""


def _ungated_shape(sizes: dict[str, IntArray]) -> BoolArray:
    shape = np.stack([sizes[name] for name in ("hidden_size", "inter_size", "topk", "num_experts")], axis=1)
    found: BoolArray = (shape[:, None, :] == np.array(UNGATED_SHAPES)[None]).all(axis=2).any(axis=1)
    return found


TABLE = Table(
    name="moe",
    kind="fused_moe",
    family="moe",
    stems=("moe_perf",),
    numbers=SIZES,
    texts=("moe_dtype", "distribution"),
    operations=frozenset({"moe"}),
    args=args,
    grows_with=("num_tokens",),
)
