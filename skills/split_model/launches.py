"""Why missing kernels of the dense family are new, and what runs beside the traced forward."""

from __future__ import annotations

NORM_WHY = (
    "rms_norm reads one row and writes one; fused_add_rms_norm reads input and residual and writes the sum and the "
    "norm in one launch: twice the bytes of a row, another public callable, and no args of rms_norm say so"
)

ROTARY = {
    "vllm": "launch preparation: the table is built at load",
    "transformers": "launch preparation: once an iteration, in the host term",
}
POSITIONS = "bookkeeping: positions and causal mask"
SAMPLING = "sampling: no part of the traced forward"
