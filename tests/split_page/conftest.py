"""Reports to look at: a plain one, and one whose every text tries to break out of the page."""

from __future__ import annotations

from typing import Any

import pytest

from skills.split_model.schema import SplitReport

PREFILL, DECODE = "prefill_1x2048+0", "decode_64x1+2048"
HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=y> | `x` [red]y[/] \x1b[2J\u202ep.exe &amp; */</style>"
)
"""Closes tags, attributes, table cells, code spans and style sheets; steers terminals; turns the text's direction."""


def row(op: str, layer_class: str, kind: str, share: float, **fields: object) -> dict[str, Any]:
    """One row with its kind and share."""
    maps_to = {"kind": kind, "args": {"n": 64, "k": 32, "dtype": "bf16"}, "axes": ["m"]}
    return {
        "op": op, "layer_class": layer_class, "repeat": 1 if layer_class == "outside" else 4, "math": "x w^T",
        "anchor": "models/x/modeling_x.py:7", "traced": 1, "fused": "inferred, unverified: one GEMM",
        "verdict": "reuse", "maps_to": maps_to, "estimated_share": share,
        "work": {PREFILL: {"flops": 3e12 * share, "bytes": 1e9 * share}, DECODE: {"flops": 1e9, "bytes": 2e9 * share}},
    } | fields  # fmt: skip


def plain_data() -> dict[str, Any]:
    """A small model with attention, experts and a launch of every nature."""
    return {
        "criteria": [
            {"id": "split.1", "text": "the facts hold", "status": "pass", "evidence": "seen"},
            {"id": "split.8", "text": "nothing is lost", "status": "fail", "evidence": "2 of 3 kernels"},
        ],
        "summary": "a small one",
        "request": {"model": "x", "stack": "vllm", "tp": 2, "without_capture": True},
        "facts": {
            "model_type": "tiny_moe", "family": "moe",
            "parameters": {"total": 30_532_122_624, "activated": None, "embeddings": 0},
            "dims": {"hidden_size": 64, "num_layers": 4, "context_length": 4096},
            "layers": [
                {"name": "layers", "count": 4, "attention": "GQA", "window": 128, "mlp": "moe"},
                {"name": "linear_layers", "count": 4, "attention": "GDN", "window": 0, "mlp": "dense"},
            ],
            "moe": {"experts": 8, "top_k": 2}, "dtypes": {"activations": "bf16"}, "flags": {"qk_norm": True},
            "unknown": ["kv_cache dtype"],
        },
        "reference": {"name": "grouped-query decoder", "anchor": "x", "differing": ["experts"]},
        "rows": [
            row("moe.experts", "layers", "fused_moe", 0.4),
            row("attention.decode", "layers", "attention_decode", 0.2),
            row("linear.prefill", "linear_layers", "gated_delta_prefill", 0.15),
            row("mlp.up_proj", "linear_layers", "single_gemm", 0.1),
            row("attention.norm", "layers", "fused_add_rms_norm", 0.05, verdict="new_kernel", why="two in one"),
            row("attention.all_reduce", "layers", "all_reduce", 0.05),
            row("embed.lookup", "outside", "elementwise", 0.03, verdict="elementwise"),
            row("head.lm_head", "outside", "single_gemm", 0.02),
            row(
                "attention.residual_add", "layers", "", 0.0, verdict="fold", maps_to={"host": "attention.norm"},
                work={},
            ),
        ],
        "plumbing": [{"name": "model.rotary_emb", "reason": "once an iteration", "count": 8}],
        "unplaced": [],
        "handoffs": [
            {
                "rows": ["layers: attention.norm"], "share": 0.05, "share_is": "estimated",
                "call": {"kind": "fused_add_rms_norm", "handoff": {"args": ["num_tokens"]}},
            }
        ],
        "trace": {"transformers": "5.24", "torch": "2.13"},
        "agreement": [
            {
                "phase": PREFILL, "tolerance": 0.01, "table": {"gemm_flops": 101.0},
                "accountant": {"gemm_flops": 100.0}, "trace": {},
            }
        ],
    }  # fmt: skip


def poisoned(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same data with every free text hostile; what a schema or the page itself chooses stays."""
    if isinstance(value, dict):
        fixed = {"status", "verdict", "stack", "share_is", "phase", "layer_class"}
        return {key: each if key in fixed else poisoned(each) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each) for each in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) else value


@pytest.fixture
def report() -> SplitReport:
    """The plain one."""
    return SplitReport.model_validate(plain_data())


@pytest.fixture
def hostile() -> SplitReport:
    """The other one."""
    data = plain_data()
    ids = iter(range(len(data["criteria"])))
    bad = poisoned(data)
    bad["criteria"] = [each | {"id": f"{each['id']}{next(ids)}"} for each in bad["criteria"]]
    bad["agreement"] = [
        {
            "phase": HOSTILE,
            "tolerance": 0.01,
            "table": {HOSTILE: 1.0},
            "accountant": {HOSTILE: 2.0},
            "trace": {},
        }
    ]
    bad["facts"]["flags"] = {HOSTILE: True}
    return SplitReport.model_validate(bad)
