"""Models that no dense architecture describes, priced by the table of their split."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from servingsim.archs.explore import model_facts
from servingsim.archs.stack_registry import stack_named
from servingsim.archs.table_arch import TableArch
from servingsim.errors import ServingSimError
from servingsim.sim.options import PredictOptions
from servingsim.sim.predict import predict
from servingsim.timing.batch import Batch, Batches
from servingsim.timing.source import DeviceSpec, MemorySource
from servingsim.worklets.bounds import IterationBounds
from servingsim.worklets.site import BuildSite
from skills.split_model.table_model import read_table, table_model

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.archs.table_model import TableModel
    from servingsim.sim.report import PredictReport

DTYPES = ("fp32", "bf16", "fp16", "fp8", "fp8_block", "int8", "int4", "mxfp4", "nvfp4")
SOURCE = MemorySource(
    {"dev": DeviceSpec("dev", dict.fromkeys(DTYPES, 1e15), 3e12, 141 * 10**9, link_bytes_per_s=4e11)}
)
VLLM = stack_named("vllm")
SHARED = {
    "model_type": "qwen3_moe", "vocab_size": 1024, "hidden_size": 64, "num_hidden_layers": 4, "head_dim": 8,
    "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 192, "max_position_embeddings": 4096,
    "tie_word_embeddings": False, "dtype": "bfloat16", "hidden_act": "silu", "rms_norm_eps": 1e-6,
}  # fmt: skip
MOE = SHARED | {
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1,
    "mlp_only_layers": [0], "norm_topk_prob": True,
}  # fmt: skip
MLA = {
    "model_type": "deepseek_v3", "vocab_size": 1024, "hidden_size": 64, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 16,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
    "v_head_dim": 8, "intermediate_size": 128, "moe_intermediate_size": 32, "n_routed_experts": 8,
    "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "moe_layer_freq": 1,
    "n_group": 1, "topk_group": 1,
    "max_position_embeddings": 4096, "dtype": "bfloat16", "hidden_act": "silu", "tie_word_embeddings": False,
}  # fmt: skip
HYBRID = SHARED | {
    "model_type": "qwen3_next", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "full_attention_interval": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {"moe": MOE, "mla": MLA, "hybrid": HYBRID}
PREFILL, DECODE = Batch.of([(256,), (64, 100)]), Batch.of([], [200] * 16)


def model_of(name: str, *, tp: int = 1, ep: int = 1) -> TableModel:
    return table_model(model_facts(CONFIGS[name], where=name), stack="vllm", tp=tp, ep=ep)


def predicted(model: TableModel, batch: Batch) -> PredictReport:
    return predict(model, batch, SOURCE, PredictOptions("dev", stack_named(model.stack), tp=model.tp))


@pytest.mark.parametrize("batch", [PREFILL, DECODE], ids=["prefill", "decode"])
@pytest.mark.parametrize("tp", [1, 2])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_tables_flops_are_the_independent_count(name: str, tp: int, batch: Batch) -> None:
    """Defect: an expert layer, a latent or a recurrence priced at another size than the model's.

    Norms and other launches that move no weights are in the table only: on so small a model they are some percent.
    """
    report = predicted(model_of(name, tp=tp), batch)
    heavy = sum(
        row.flops
        for row in report.ops
        if row.kind not in {"rms_norm", "elementwise", "all_reduce", "topk_routing"}
    )
    assert heavy == pytest.approx(report.necessary_flops, rel=0.02)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_decode_step_launches_nothing_of_a_prefill_and_the_other_way_round(name: str) -> None:
    """Defect: latents expanded for requests that decode, a state stepped where nothing decodes."""
    model = model_of(name)
    decode, prefill = ({row.kind for row in predicted(model, batch).ops} for batch in (DECODE, PREFILL))
    assert not any(kind.endswith("_prefill") for kind in decode)
    assert not any(kind.endswith("_decode") for kind in prefill)


def test_layers_that_differ_are_folded_apart_and_all_of_them_are_there() -> None:
    """Defect: a hybrid's full layers priced as linear ones, a class forgotten."""
    model = model_of("hybrid")
    bounds = IterationBounds(8192, 256, 4096)
    arch = TableArch.build(model.rows, BuildSite("dev", SOURCE, VLLM, "", bounds, "estimate"))
    runs = dict(zip([leaf.name for leaf in arch.manifest.leaves], arch.flat.repetitions(), strict=True))
    mixers = {name: count for name, count in runs.items() if name.endswith((".decode",))}
    assert sorted(mixers.values()) == [1, 3]
    assert len(arch.evaluate(Batches.of([PREFILL, DECODE]))[0].time_ms) == 2


def test_what_has_no_kind_and_what_stands_in_is_said() -> None:
    """Defect: a prediction that leaves launches out reads as if it were whole."""
    said = {each.name: each.reason for each in predicted(model_of("moe", tp=2), DECODE).unpriced}
    assert "head.logits_gather" not in said
    assert any("rms_norm stands in for fused_add_rms_norm" in reason for reason in said.values())


def test_expert_parallelism_divides_the_experts_and_nothing_else() -> None:
    """Defect: ep ignored, or attention divided by it; experts divided by both tp and ep."""
    whole, spread = (model_of("moe", tp=2, ep=ep).rows for ep in (1, 2))
    changed = {row.name for row, other in zip(whole, spread, strict=True) if row.args != other.args}
    assert changed == {"moe_layers.moe.experts"}
    args = next(row.args for row in spread if row.kind == "fused_moe")
    assert (args["moe_ep_size"], args["moe_tp_size"]) == (2, 1)


def test_missing_rows_are_listed_for_the_kinds_of_the_breadth() -> None:
    """Defect: an estimate without a word of what would replace it by a measurement."""
    report = predicted(model_of("mla"), DECODE)
    assert {"mla_decode", "fused_moe"} <= {each.kind for each in report.missing}
    assert report.coverage == ["NO_COVERAGE"]


def test_a_table_is_for_its_own_stack_and_ranks() -> None:
    """Defect: a table of tp 2 priced with the links and limits of tp 4."""
    with pytest.raises(ServingSimError, match="a table for tp 2, asked for tp 4"):
        predict(model_of("moe", tp=2), DECODE, SOURCE, PredictOptions("dev", VLLM, tp=4))
    with pytest.raises(ServingSimError, match="a table for stack vllm"):
        predict(model_of("moe"), DECODE, SOURCE, PredictOptions("dev", stack_named("transformers")))


def test_an_hf_quant_config_beside_the_config_is_read(tmp_path: Path) -> None:
    """Defect: a quantised checkpoint priced with the bytes of its dense sibling."""
    (tmp_path / "config.json").write_text(json.dumps(MOE))
    plain = read_table(tmp_path, stack="vllm")
    (tmp_path / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "FP8"}}))
    quantised = read_table(tmp_path, stack="vllm")
    assert (plain.facts.gemm_dtype, quantised.facts.gemm_dtype) == ("bf16", "fp8")
    assert {row.args["dtype"] for row in quantised.rows if row.kind == "fused_moe"} == {"fp8"}


@pytest.mark.shared
@pytest.mark.parametrize("stack", ["vllm", "transformers"])
def test_every_genuine_config_is_priced(shared_data: Path, stack: str) -> None:
    """Defect: a family of genuine models that the table cannot be built for."""
    refused = {}
    for path in sorted((shared_data / "configs").glob("*.json")):
        try:
            report = predicted(read_table(path, stack=stack), DECODE)
            assert report.kernels_ms > 0
            assert report.necessary_flops > 0
        except ServingSimError as error:
            refused[path.stem] = str(error)
    assert refused == {}
