"""What a row adds to the figures that an accountant counts too: FLOPs by nature, weights, cache and state.

A work model gives bytes in one sum. What is weights or cache in it is found by asking the model again with nothing
else: no heads leave the keys, no chosen experts leave the activations, no tokens leave the state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.row_work import counted_as, launched, row_work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skills.split_model.draft import Draft
    from skills.split_model.schema import PhaseShape, Scalar

Figures = dict[str, float]
INDEX = "index_"
"""Rows of sparse attention that choose the keys: their operations begin with it behind the section."""


def row_figures(draft: Draft, phase: PhaseShape) -> Figures:
    """Figures of all launches of a row in an iteration; none where it is not launched."""
    if not launched(draft, phase):
        return {}
    single = _FIGURES[draft.family](draft, phase) if draft.family in _FIGURES else {}
    return {name: draft.repeat * value for name, value in single.items()}


def _gemm(draft: Draft, phase: PhaseShape) -> Figures:
    args = draft.maps_to.args
    weights = int(args["n"]) * int(args["k"]) * int(args.get("num_groups", 1))
    return {
        "gemm_flops": row_work(draft, phase).flops,
        "weight_bytes": draft.launches * weights * dtype_bytes(str(args["dtype"])),
    }


def _embedding(draft: Draft, phase: PhaseShape) -> Figures:
    return {"weight_bytes": draft.count(phase) * int(draft.maps_to.args["input_bytes_per_token"])}


def _experts(draft: Draft, phase: PhaseShape) -> Figures:
    work = row_work(draft, phase)
    nothing = {"topk": 0} if "topk" in draft.maps_to.args else {"num_groups": 0}
    activations = row_work(_with(draft, nothing), phase).bytes
    return {"expert_flops": work.flops, "expert_weight_bytes": work.bytes - activations}


def _attention(draft: Draft, phase: PhaseShape) -> Figures:
    flops = row_work(draft, phase).flops
    if draft.op.rpartition(".")[2].startswith(INDEX):
        keys = row_work(_with(draft, {"index_heads": 0, "topk": 0}), phase).bytes
        return {"index_flops": flops, "index_read_bytes": keys}
    if counted_as(draft.maps_to) == "mla_prefill":
        return {"attention_flops": flops, "kv_read_bytes": _latents_read(draft, phase)}
    return {"attention_flops": flops, "kv_read_bytes": row_work(_with(draft, {"num_heads": 0}), phase).bytes}


def _latents_read(draft: Draft, phase: PhaseShape) -> float:
    """The kernel reads expanded heads; what is cached, and read to expand it, is a latent and a key for each token."""
    args = draft.maps_to.args
    latent = int(args["kv_lora_rank"]) + int(args["qk_rope_head_dim"])
    return phase.batch * (phase.q_len + phase.context) * latent * dtype_bytes(str(args["kv_dtype"]))


def _scan(draft: Draft, phase: PhaseShape) -> Figures:
    """A step is a prefill of one token: with none of them the state is left."""
    kind = counted_as(draft.maps_to).replace("_decode", "_prefill")
    long = draft.maps_to.model_copy(update={"kind": kind, "axes": ["batch_size", "q_len"]})
    state = row_work(replace(draft, maps_to=long), phase.model_copy(update={"q_len": 0})).bytes
    return {"scan_flops": row_work(draft, phase).flops, "state_bytes": state}


def _append(draft: Draft, phase: PhaseShape) -> Figures:
    if draft.op.rpartition(".")[2].startswith(INDEX):
        return {}
    size = int(draft.maps_to.args["output_bytes_per_token"])
    return {"kv_append_bytes": draft.launches * draft.count(phase) * size}


def _collective(draft: Draft, phase: PhaseShape) -> Figures:
    if counted_as(draft.maps_to) != "all_reduce":
        return {}
    return {"all_reduce_bytes": draft.launches * draft.count(phase)}


def _with(draft: Draft, changed: Mapping[str, Scalar]) -> Draft:
    """The same row with other args."""
    return replace(
        draft, maps_to=draft.maps_to.model_copy(update={"args": {**draft.maps_to.args, **changed}})
    )


_FIGURES = {
    "gemm": _gemm,
    "embedding": _embedding,
    "moe": _experts,
    "attention": _attention,
    "scan": _scan,
    "kv_append": _append,
    "collective": _collective,
}
