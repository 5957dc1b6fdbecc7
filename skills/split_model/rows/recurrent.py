"""Mixers with a state that does not grow: the gated delta rule, and state-space duality (Mamba-2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skills.split_model.draft import Cover
from skills.split_model.rows.missing import DELTA_WHY, SSD_WHY
from skills.split_model.rows.modules import (
    ATTENTION,
    CACHE,
    REGION_CONV,
    REGION_SCANS,
    REGIONS,
    inside,
    projected,
)

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LinearAttention, Mamba2
    from skills.split_model.draft import Draft
    from skills.split_model.rows.writer import Rows

AXES = {"prefill": ["batch_size", "q_len"], "decode": ["batch_size"]}
NORMED = "norm"


def delta_rows(at: Rows, mixer: LinearAttention) -> list[Draft]:
    """A gated delta rule: projections, convolution, gates, the recurrence, the gated norm, the output."""
    name = "linear"
    keys, values = mixer.num_k_heads * mixer.k_head_dim, mixer.num_v_heads * mixer.v_head_dim
    gates = 2 * mixer.num_v_heads
    parts = {"qkvz": 2 * keys + 2 * values, "ba": gates}
    args = {
        "num_k_heads": mixer.num_k_heads,
        "num_v_heads": mixer.num_v_heads,
        "k_head_dim": mixer.k_head_dim,
        "v_head_dim": mixer.v_head_dim,
        "dtype": at.dtype,
    }
    return [
        *at.quantised(f"{name}.in", at.hidden, "attention"),
        *(
            row
            for part, width in parts.items()
            for row in at.gemm(
                f"{name}.in_proj_{part}",
                n=width,
                k=at.hidden,
                part="attention",
                covers=(inside(ATTENTION, INPUTS[part]),),
                math=f"linear: {', '.join(part)}",
            )
        ),
        *_conv(at, name, 2 * keys + values),
        at.elementwise(
            f"{name}.gates",
            "delta_gates" if eager(at) else "mul",
            "decay from a, strength from b, keys repeated to value heads",
            read=gates,
            written=gates,
            covers=(_own(),),
        ),
        *_scan(at, name, "gated_delta", args, DELTA_WHY),
        _gated_norm(at, name, values),
        *at.quantised(f"{name}.out", values, "attention"),
        *_out(at, name, values, bias=False),
    ]


INPUTS = {
    "qkvz": "in_proj_qkvz|in_proj_qkv|in_proj_z|q_proj|k_proj|v_proj|g_proj",
    "ba": "in_proj_ba|in_proj_b|in_proj_a|b_proj|a_proj|f_a_proj|f_b_proj",
}


def mamba_rows(at: Rows, mixer: Mamba2) -> list[Draft]:
    """State-space duality: one projection in, convolution, the scan, the gated norm, the output."""
    name, inner = "mamba", mixer.num_heads * mixer.head_dim
    shared = 2 * mixer.num_groups * mixer.state_size
    args = {
        "num_heads": mixer.num_heads,
        "head_dim": mixer.head_dim,
        "state_size": mixer.state_size,
        "num_groups": mixer.num_groups,
        "dtype": at.dtype,
    }
    return [
        *at.quantised(f"{name}.in", at.hidden, "attention"),
        *at.gemm(
            f"{name}.in_proj",
            n=2 * inner + shared + mixer.num_heads,
            k=at.hidden,
            part="attention",
            covers=(inside(ATTENTION, "in_proj"),),
            math="linear: gate, x, B, C, dt",
            bias=mixer.proj_bias,
        ),
        *_conv(at, name, inner + shared),
        *_scan(at, name, "mamba2", args, SSD_WHY, own=True),
        _gated_norm(at, name, inner),
        *at.quantised(f"{name}.out", inner, "attention"),
        *_out(at, name, inner, bias=mixer.proj_bias),
    ]


def eager(at: Rows) -> bool:
    """Whether the stack runs a model's own code: what engines have fused is there a callable of its own."""
    return not at.site.catalogue.merges


def _conv(at: Rows, name: str, channels: int) -> list[Draft]:
    """One launch; in eager code a prompt's convolution and the update of one token are two functions."""
    covers = (
        Cover(pattern=ATTENTION, aten=(REGION_CONV,)),
        inside(ATTENTION, "conv1d|act|q_conv1d|k_conv1d|v_conv1d"),
        Cover(pattern=ATTENTION, functions=(*CACHE, *CONV), without=REGIONS),
    )
    math = "short causal convolution of each channel, then its activation"
    if not eager(at):
        return [
            at.elementwise(
                f"{name}.conv",
                "causal_conv1d",
                math,
                family="conv",
                covers=covers,
                read=channels,
                written=channels,
            )
        ]
    return [
        at.elementwise(
            f"{name}.conv.{phase}",
            callable_name,
            math,
            family="conv",
            counted=f"{phase}_tokens",
            covers=tuple(replace(cover, phase=phase) for cover in covers),
            read=channels,
            written=channels,
        )
        for phase, callable_name in CONV_CALLABLES.items()
        if phase in at.site.phases
    ]


CONV_CALLABLES = {"prefill": "causal_conv1d", "decode": "causal_conv1d_update"}


CONV = (
    "causal_conv1d_update",
    "causal_conv1d_fn",
    "torch_causal_conv1d_update",
    "apply_mask_to_padding_states",
)


def _scan(
    at: Rows, name: str, kind: str, args: dict[str, Any], why: str, *, own: bool = False
) -> list[Draft]:
    """The recurrence as one unit: chunked in prefill, one step in decode."""
    more = (_own(),) if own else ()
    return [
        at.kernel(
            f"{name}.{phase}",
            f"{kind}_{phase}",
            args,
            AXES[phase],
            why=why,
            family="scan",
            math="recurrence over the state" + (", in chunks" if phase == "prefill" else ", one step"),
            counted=phase,
            covers=(
                Cover(pattern=ATTENTION, aten=REGION_SCANS, phase=phase),
                *(
                    Cover(
                        pattern=each.pattern,
                        without=each.without,
                        not_functions=each.not_functions,
                        phase=phase,
                    )
                    for each in more
                ),
            ),
        )
        for phase in ("prefill", "decode")
        if phase in at.site.phases
    ]


def _own() -> Cover:
    """What the mixer computes in its own forward beside its regions."""
    return Cover(pattern=ATTENTION, without=REGIONS, not_functions=(*CACHE, *CONV))


def _gated_norm(at: Rows, name: str, size: int) -> Draft:
    return at.elementwise(
        f"{name}.gated_norm",
        "gated_norm" if eager(at) else "silu_mul",
        "RMSNorm over each head or group, times silu(z)",
        read=2 * size,
        written=size,
        family="norm",
        covers=(inside(ATTENTION, "norm|o_norm"),),
    )


def _out(at: Rows, name: str, size: int, *, bias: bool) -> list[Draft]:
    return at.gemm(
        f"{name}.out_proj",
        n=at.hidden,
        k=size,
        covers=(projected("o"),),
        math="linear: output",
        part="attention",
        bias=bias,
    )
