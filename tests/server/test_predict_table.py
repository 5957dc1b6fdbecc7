"""`servingsim predict` of models that no dense architecture describes: through the table of their split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from profiling.device_row import DeviceRow
from profiling.row import MeasuredRow, Origins, Timing
from profiling.store import Store
from server.cli import cli
from servingsim.sim.report import PredictReport

if TYPE_CHECKING:
    from click.testing import Result

DEVICE = "Test GPU"
DENSE = Path(__file__).resolve().parents[1] / "fixtures" / "configs" / "llama_small.json"
MOE = {
    "model_type": "qwen3_moe", "vocab_size": 1024, "hidden_size": 64, "num_hidden_layers": 4, "head_dim": 8,
    "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 192, "max_position_embeddings": 4096,
    "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "norm_topk_prob": True, "tie_word_embeddings": False, "dtype": "bfloat16",
    "hidden_act": "silu",
}  # fmt: skip


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with one device and one measured shape of experts, 0.25 ms."""
    path = tmp_path / "rows.db"
    with Store.open(path, create=True) as store:
        store.put_device(DeviceRow(DEVICE, "cuda", 10**11, {"bf16": 1e15}, 3e12, limits_origin="measured"))
        args: dict[str, int | float | str] = {
            "num_tokens": 4, "hidden_size": 64, "inter_size": 32, "topk": 2, "num_experts": 8, "moe_tp_size": 1,
            "moe_ep_size": 1, "distribution": "balanced", "dtype": "bf16",
        }  # fmt: skip
        origins = Origins("measured", DEVICE, "torch", "torch", "2", source="a test")
        store.upsert([MeasuredRow("fused_moe", args, Timing(0.25, 0.24, 0.26, 0.02, 10), origins)])
    return path


@pytest.fixture
def moe(tmp_path: Path) -> Path:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(MOE))
    return file


def run(config: Path, db: Path, *args: str) -> Result:
    words = ["predict", str(config), "--device", DEVICE, "--db", str(db), "--decode", "32x4", *args]
    return CliRunner().invoke(cli, words, catch_exceptions=False)


def answered(config: Path, db: Path, *args: str) -> dict[str, Any]:
    result = run(config, db, "--json", *args)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def test_experts_are_priced_from_measured_rows_and_the_rest_is_said(moe: Path, db: Path) -> None:
    """Defect: a mixture of experts refused, or its measured kernel not found under the table's args."""
    report = PredictReport.model_validate(answered(moe, db))
    experts = next(row for row in report.ops if row.kind == "fused_moe")
    assert (experts.op, experts.launches, experts.coverage) == ("layers.moe.experts", 4, [])
    assert experts.time_ms == pytest.approx(4 * 0.25)
    assert report.subject.model_type == "qwen3_moe"
    assert report.kernels_ms > experts.time_ms
    assert report.bound_ms is not None
    assert report.bound_ms < report.kernels_ms
    assert any("stands in for fused_add_rms_norm" in each.reason for each in report.unpriced)


def test_people_read_it_like_any_other(moe: Path, db: Path) -> None:
    text = run(moe, db).stdout
    assert "layers.moe.experts" in text
    assert "qwen3_moe" in text


def test_ranks_that_share_the_experts_are_an_option(moe: Path, db: Path) -> None:
    """Defect: `--ep` accepted and ignored."""
    whole, spread = (answered(moe, db, "--tp", "2", "--ep", str(ep)) for ep in (1, 2))
    specs = [
        next(each["specs"][0] for each in report["missing"] if each["kind"] == "fused_moe")
        for report in (whole, spread)
    ]
    assert [(spec["moe_tp_size"], spec["moe_ep_size"]) for spec in specs] == [(2, 1), (1, 2)]


@pytest.mark.parametrize("stack", ["sglang", "trtllm", "transformers"])
def test_every_stack_prices_it(moe: Path, db: Path, stack: str) -> None:
    """Defect: a stack that splits a model and cannot price it."""
    assert answered(moe, db, "--stack", stack)["subject"]["stack"] == stack


def test_a_dense_model_on_a_stack_that_rotates_and_appends_at_once_has_one_launch_for_both(db: Path) -> None:
    """Defect: a stack's own fusion priced as two launches because the model is dense."""
    names = {row["op"] for row in answered(DENSE, db, "--stack", "trtllm")["ops"]}
    assert "layers.attention.rope_append" in names
    assert not names & {"layers.attention.rope", "layers.attention.kv_append"}


def test_a_dense_model_with_experts_to_share_is_refused(db: Path) -> None:
    result = run(DENSE, db, "--ep", "2", "--json")
    assert result.exit_code == 2
    assert "no experts to spread" in json.loads(result.stdout)["error"]["message"]


def test_a_fault_in_a_dense_config_is_told_in_its_readers_words(tmp_path: Path, db: Path) -> None:
    """Defect: a typed fault answered with the general reader's guess at another family."""
    data = json.loads(DENSE.read_text()) | {"num_attention_heads": 0}
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(data))
    result = run(broken, db, "--json")
    assert result.exit_code == 2
    assert "num_attention_heads" in json.loads(result.stdout)["error"]["message"]
