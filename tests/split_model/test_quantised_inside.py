"""Inputs of fp8 layers: launches of their own in a split, part of the measured layer in a prediction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from skills.split_model.table_model import QUANTISES, read_table

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 1024, "head_dim": 128,
    "intermediate_size": 2048, "moe_intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
    "num_key_value_heads": 4, "num_experts": 16, "num_experts_per_tok": 2, "vocab_size": 8192, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 4096, "norm_topk_prob": True, "torch_dtype": "bfloat16", "hidden_act": "silu",
}  # fmt: skip
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}


def test_a_prediction_does_not_price_the_quantisation_that_fp8_rows_hold(tmp_path: Path) -> None:
    """Defect: it counts twice, one launch for each projection of every layer."""
    for name, config in (("plain", CONFIG), ("fp8", CONFIG | {"quantization_config": FP8})):
        (tmp_path / f"{name}.json").write_text(json.dumps(config))
    plain, fp8 = (read_table(tmp_path / f"{name}.json", stack="sglang") for name in ("plain", "fp8"))
    assert [row.op for row in fp8.rows] == [row.op for row in plain.rows]
    assert not any(row.op.endswith(QUANTISES) for row in fp8.rows)
    assert {row.args["dtype"] for row in fp8.rows if row.op.endswith("qkv_proj")} == {"fp8_block"}
    assert any("quantised inside" in note for note in fp8.notes)
    assert not any("quantised inside" in note for note in plain.notes)
    apart = read_table(tmp_path / "fp8.json", stack="sglang", launches_apart=True)
    assert sum(row.op.endswith(QUANTISES) for row in apart.rows) == 2
