"""What a profiled layer is as a kernel: its kind, the args that the model fixes, and what its count counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from profiling.importers.llmservingsim.shape import Shape
    from servingsim.timing.source import ArgValue


@dataclass(frozen=True)
class Layer:
    """A kernel.

    Attributes:
        kind: Its kind.
        axis: The args field that the file's count is.
        args: The other args.
        each: Rows of the kernel for each counted one (heads of a per-head norm).
    """

    kind: str
    axis: str
    args: Mapping[str, ArgValue] = field(hash=False)
    each: int = 1


NOT_IMPORTED = {
    "final_layernorm": "the same kernel as layernorm, measured once in a forward; layernorm's rows stand for both",
    "sampler": "there is no kernel kind for sampling",
}


def layers(shape: Shape, dtype: str) -> dict[str, Layer]:
    """Layers by their name in the files, on one rank."""
    hidden, inter = shape.hidden_size, shape.intermediate_size
    return {
        "qkv_proj": _gemm(shape.q_size + 2 * shape.kv_size, hidden, dtype),
        "o_proj": _gemm(hidden, shape.q_size, dtype),
        "gate_up_proj": _gemm(2 * inter, hidden, dtype),
        "down_proj": _gemm(hidden, inter, dtype),
        "lm_head": _gemm(shape.vocab_size, hidden, dtype),
        "layernorm": Layer("rms_norm", "num_tokens", {"hidden_size": hidden, "dtype": dtype}),
        "qk_norm": Layer(
            "rms_norm", "num_tokens", {"hidden_size": shape.head_dim, "dtype": dtype}, each=shape.num_heads
        ),
        "rotary_emb": _streamed("rope", shape.q_size + shape.kv_size, shape.q_size + shape.kv_size, dtype),
        "act_fn": _streamed("silu_mul", 2 * inter, inter, dtype),
        "embedding": _streamed("embedding", hidden, hidden, dtype),
    }


def _gemm(n: int, k: int, dtype: str) -> Layer:
    return Layer("single_gemm", "m", {"n": n, "k": k, "dtype": dtype})


def _streamed(op: str, read: int, written: int, dtype: str) -> Layer:
    """Elements that a token brings in and out, as the simulator counts them."""
    width = dtype_bytes(dtype)
    args: dict[str, ArgValue] = {
        "op": op,
        "input_bytes_per_token": round(read * width),
        "output_bytes_per_token": round(written * width),
        "dtype": dtype,
    }
    return Layer("elementwise", "num_tokens", args)
