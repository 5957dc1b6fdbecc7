"""A serving stack as facts: which kernels it fuses, and whose measured rows stand for its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Route:
    """Whose rows price a kind of kernel in a stack.

    Attributes:
        kind: Kernel kind.
        op: Elementwise callable that the route is for; empty for the whole kind.
        beside: Own backends are candidates beside imported rows, which cover some shapes of the kind only.
        frameworks: Frameworks of imported rows (`vllm` of `vllm-0.24.0:...`) that are the stack's own
            kernels.
        own: Backends that can be measured here, used where no imported row of `frameworks` exists.
    """

    kind: str
    own: tuple[str, ...]
    frameworks: tuple[str, ...] = ()
    op: str = ""
    beside: bool = False


def engine_routes(framework: str) -> tuple[Route, ...]:
    """Routes of an engine whose own kernels are those of imported rows of one framework.

    Of elementwise operations few have imported rows: as a route of all they would hide measured ones.
    """
    own, measured = (framework,), ("flashinfer", "torch")
    kinds = (
        *("mla_prefill", "mla_decode", "gated_delta_prefill", "gated_delta_decode"),
        *("mamba2_prefill", "mamba2_decode", "fused_moe", "grouped_gemm", "topk_routing"),
    )
    return (
        Route("single_gemm", ("torch",), own),
        Route("rms_norm", measured, own),
        Route("elementwise", ("torch",)),
        Route("elementwise", ("torch",), own, op="causal_conv1d"),
        *(
            Route("elementwise", ("torch",), own, op=op, beside=True)
            for op in ("rope", "silu_mul", "embedding")
        ),
        Route("attention_prefill", measured, own),
        Route("attention_decode", measured, own),
        Route("attention_mixed", measured, own),
        *(Route(kind, ("torch",), own) for kind in kinds),
        *(
            Route(kind, ("nccl", "gloo"), (framework, "nccl"))
            for kind in ("all_reduce", "all_gather", "reduce_scatter")
        ),
    )


@dataclass(frozen=True)
class Unpriced:
    """Something that the stack runs and the tree does not price, said aloud; from `from_tp` ranks on."""

    name: str
    reason: str
    from_tp: int = 1


@dataclass(frozen=True)
class Stack:
    """One file in `archs/stacks/` defines one.

    Attributes:
        name: As `--stack` takes it.
        fused_qkv: One GEMM for queries, keys and values.
        fused_gate_up: One GEMM for gate and up projection.
        fused_activation: SiLU and the product with `up` in one kernel.
        residual_in_norm: The residual addition is folded into the RMSNorm that follows it.
        kv_append: `copy`: new keys and values are written into a paged cache; `cat`: the whole cache is
            copied to grow by the new ones.
        vocab_multiple: The vocabulary is padded to a multiple of this.
        max_tp: Largest tensor-parallel degree that is priced.
        routes: Whose rows price which kind; a route with `op` goes before the kind's general one.
        unpriced: What is left out, and why.
    """

    name: str
    fused_qkv: bool
    fused_gate_up: bool
    fused_activation: bool
    residual_in_norm: bool
    kv_append: Literal["copy", "cat"]
    vocab_multiple: int
    max_tp: int
    routes: tuple[Route, ...]
    unpriced: tuple[Unpriced, ...] = ()

    def route(self, kind: str, op: str = "") -> Route:
        """The route of a kernel; any backend that has rows where the stack names none."""
        fitting = [route for route in self.routes if route.kind == kind and route.op in {op, ""}]
        return max(fitting, key=lambda route: bool(route.op), default=Route(kind, ()))

    def versions(self, backends: Iterable[str]) -> tuple[str, ...]:
        """Versions of the stack itself among the names of imported backends, sorted."""
        parts = (split_backend(backend) for backend in backends)
        return tuple(sorted({version for framework, version in parts if framework == self.name}))


def split_backend(backend: str) -> tuple[str, str]:
    """Framework and version of an imported backend, `("vllm", "0.24.0")` of `vllm-0.24.0:fa3`; else empty."""
    label, separator, _ = backend.partition(":")
    framework, _, version = label.partition("-")
    return (framework, version) if separator else ("", "")
