"""Names of element types in the tables, and what they are here.

A name is taken only where both mean the same arithmetic. A kernel name often serves several quantisations, so that
a near match would be merged with rows of another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.columns import Text
    from profiling.importers.aiconfigurator.judge import Judge

DTYPES = {
    "float32": "fp32",
    "float": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp8": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_block": "fp8_block",
    "int8": "int8",
    "sq": "int8",  # SmoothQuant: both operands in 8 bits
    "int4_wo": "int4",
    "w4a16_mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "fp32": "fp32",
    "bf16": "bf16",
    "fp16": "fp16",
}
REFUSED = {
    "int8_wo": "8-bit weights with 16-bit activations; int8 here means both",
    "w4afp8": "4-bit weights with fp8 activations; int4 here means 16-bit ones",
    "w4a8_mxfp4_mxfp8": "mxfp4 weights with mxfp8 activations; mxfp4 here means 16-bit ones",
}


def dtype_column(judge: Judge, column: str) -> Text:
    """A column's element types under this store's names; rows of any other type are refused."""
    text = judge.columns.texts[column]
    judge.refuse_texts(text, lambda name: _refusal(column, name))
    return text.map(lambda name: DTYPES.get(name, ""))


def _refusal(column: str, name: str) -> str:
    if name in DTYPES:
        return ""
    shown = name[:40] or "missing"
    return f"{column} {shown}: {REFUSED.get(name, 'unknown dtype')}"
