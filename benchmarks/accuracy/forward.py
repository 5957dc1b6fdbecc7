"""Real forwards on this machine's CPU beside their predictions: a dense model, one with experts, and a hybrid.

The method and its constants (samples a round, the order of launches, how narrow the narrow model is) were chosen on
other models than these: a Llama of 1,024, a Qwen3-MoE and a Qwen3-Next of 768.
"""

from __future__ import annotations

import importlib.util
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.accuracy.contract import Claim, Scope, ValidatedRecord
from benchmarks.h100_rows import Absent
from profiling.device import local_devices
from profiling.forward_case import ForwardCase
from server.forward.run import compare
from server.forward.trial import STACK, Trial

if TYPE_CHECKING:
    from server.forward.report import ForwardReport, Part

ROUNDS = 8
TARGET_PERCENT = 8.0
TRIED = (
    "operands in turn from several copies, so that a kernel finds them as cold as in a step; kernels and steps in turn "
    "in one process; what lies between kernels from a narrow model of the same layers; kernels timed in the order of a "
    "layer instead of after weights that stream (all kept)"
)
CHOSEN_ON = frozenset(
    {"forwards of a Llama of 1,024", "forwards of a Qwen3-MoE of 768", "forwards of a Qwen3-Next of 768"}
)
"""Models on which the method's constants were chosen."""
SHARED: dict[str, Any] = {
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}
EXPERTS: dict[str, Any] = {"norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}
MODELS: dict[str, dict[str, Any]] = {
    "dense": SHARED
    | {
        "model_type": "llama",
        "hidden_size": 896,
        "intermediate_size": 2432,
        "num_hidden_layers": 10,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
        "vocab_size": 24576,
    },
    "experts": SHARED
    | EXPERTS
    | {
        "model_type": "qwen3_moe",
        "hidden_size": 640,
        "intermediate_size": 1536,
        "moe_intermediate_size": 384,
        "num_experts": 24,
        "num_experts_per_tok": 3,
        "num_hidden_layers": 8,
        "num_attention_heads": 10,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "vocab_size": 16384,
    },
    "hybrid": SHARED
    | EXPERTS
    | {
        "model_type": "qwen3_next",
        "hidden_size": 640,
        "intermediate_size": 1536,
        "moe_intermediate_size": 384,
        "shared_expert_intermediate_size": 384,
        "num_experts": 12,
        "num_experts_per_tok": 2,
        "num_hidden_layers": 8,
        "full_attention_interval": 4,
        "num_attention_heads": 10,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "linear_num_key_heads": 4,
        "linear_num_value_heads": 8,
        "linear_key_head_dim": 64,
        "linear_value_head_dim": 64,
        "linear_conv_kernel_dim": 4,
        "vocab_size": 16384,
    },
}
CASES = (
    ForwardCase(1, 96, 0),
    ForwardCase(1, 180, 0),
    ForwardCase(1, 64, 192),
    ForwardCase(1, 1, 384),
    ForwardCase(6, 1, 300),
)
"""Lengths and requests on the grids of the kernels and beside them."""
SAYS = {
    "dense": "a grouped-query Llama: a prediction from kernels is the real forward on a CPU, prefill and decode",
    "experts": "a model with routed experts (Qwen3-MoE), the experts that were hit known",
    "hybrid": "a hybrid of gated delta rules, attention and experts (Qwen3-Next)",
}


def claims() -> list[Claim]:
    """One claim a model, on the machine that runs this.

    Raises:
        Absent: Without torch or Transformers.
    """
    for name in ("torch", "transformers"):
        if importlib.util.find_spec(name) is None:
            raise Absent(f"{name} is not installed: pip install 'servingsim[torch]'")
    device = next(each for each in local_devices(1) if each.type == "cpu")
    return [
        _claim(name, compare(Trial.of(name, config, device.name, CASES), rounds=ROUNDS))
        for name, config in MODELS.items()
    ]


def _claim(name: str, report: ForwardReport) -> Claim:
    key = f"cpu_forward_{name}"
    errors = {step.label: 100 * step.error for step in report.steps}
    kinds = {"prefill": "prefill", "decode": "decode"}
    by_phase = {
        phase: [abs(error) for label, error in errors.items() if label.startswith(kind)]
        for phase, kind in kinds.items()
    }
    figures = {f"{key}_{phase}_mape_percent": mean(found) for phase, found in by_phase.items()}
    figures |= {f"{key}_worst_percent": 100 * report.worst, f"{key}_parts_median_percent": _parts(report)}
    figures |= {
        f"{key}_host_share_percent": 100 * mean(step.host_ms / step.measured_ms for step in report.steps)
    }
    record = ValidatedRecord(
        id=key,
        scope=Scope(
            devices=(report.device,),
            stacks=(STACK,),
            versions=(report.libraries["transformers"],),
            kinds=("iteration",),
            models=(str(MODELS[name]["model_type"]),),
        ),
        metric="time",
        mape_percent=100 * report.mape,
        p95_percent=float(np.percentile([abs(error) for error in errors.values()], 95)),
        points=len(errors),
        claim=key,
    )
    return Claim(
        id=key,
        area="A real forward on a CPU",
        says=SAYS[name],
        data=f"{report.kernels} kernel shapes and {len(errors)} steps in turn, {report.rounds} rounds, one thread, "
        f"{report.dtype}, random weights, torch {report.libraries['torch']}",
        split="kernels timed apart from the model, in the order of its layers; the host's part from a narrow model of "
        "the same layers; the forward itself is only measured to be compared",
        figures=figures,
        targets={f"{key}_{phase}_mape_percent": TARGET_PERCENT for phase in kinds},
        anchor="nobody shows it",
        command="python -m benchmarks.accuracy --area forward",
        fitted_on=CHOSEN_ON | {f"kernels alone and a narrow {MODELS[name]['model_type']}"},
        judged_on=frozenset({f"forwards of {key}"}),
        note=_note(report),
        tried=TRIED,
        records=(record,),
    )


def _parts(report: ForwardReport) -> float:
    """Median magnitude of the parts' errors, those that are a hundredth of their step or more."""
    found = [
        abs(part.error)
        for step in report.steps
        for part in step.parts
        if part.error is not None and part.measured_ms >= step.measured_ms / 100
    ]
    return 100 * float(np.median(found))


def _note(report: ForwardReport) -> str:
    """Each step's error and its largest contributor; and how busy the machine was."""
    told = [f"{step.label} {100 * step.error:+.1f} % ({_said(step.parts[0])})" for step in report.steps]
    busy = f"; {report.disturbed:.0%} of the samples waited for a core" if report.disturbed > 0.01 else ""
    experts = [f"{step.active_experts:.1f}" for step in report.steps if step.active_experts]
    routed = f"; experts hit, as seen in the run: {', '.join(experts)}" if experts else ""
    return "; ".join(told) + routed + busy


def _said(part: Part) -> str:
    return f"most of it {part.name}, {100 * part.of_step:+.1f} %"
