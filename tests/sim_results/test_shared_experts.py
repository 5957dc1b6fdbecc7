"""Deployments whose replicas share experts, as a report shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from servingsim.archs.explore import model_facts
from servingsim.archs.stack_registry import stack_named
from servingsim.sim.options import PredictOptions
from servingsim.sim.predict import predict
from servingsim.sim.results.results import results_of
from servingsim.sim.serving.deployment import Deployment
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.workload.contract import plain_workload
from servingsim.timing.batch import Batch
from skills.split_model.table_model import table_model
from tests.sim_results.conftest import KNOWN, SOURCE, pool

if TYPE_CHECKING:
    from servingsim.sim.serving.simulate import Simulated

CONFIG: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "hidden_size": 256,
    "intermediate_size": 512,
    "moe_intermediate_size": 128,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "norm_topk_prob": True,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "num_hidden_layers": 3,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}


def served(replicas: int, *requests: tuple[float, int, int]) -> Simulated:
    """Replicas that spread the experts over two ranks; arrival, prompt and output of each request."""
    model = table_model(model_facts(CONFIG, where="made-up"), stack="vllm", tp=1, ep=2)
    arrivals, prompts, outputs = (np.array(each) for each in zip(*requests, strict=True))
    workload = plain_workload("few", "by hand", arrivals.astype(np.float64), prompts, outputs)
    deployment = Deployment(model="made-up", pools=(pool(replicas=replicas, ep=2),))
    return simulate(deployment, workload, [model], SOURCE)


def test_a_replica_beside_one_with_a_long_prompt_waits_for_it() -> None:
    """Defect: replicas that share experts run past each other, and what they wait is idle or busy time."""
    both = results_of(served(2, (0.0, 200, 2), (0.0, 8, 2)), check_tables=False)
    assert both.latency.ttft_ms is not None
    assert both.latency.ttft_ms.p50 == pytest.approx(both.latency.ttft_ms.most)
    assert both.time.imbalance > 0.01
    assert any("begin and end each iteration together" in note for note in both.trust.notes)


def test_equal_batches_cost_what_a_prediction_of_one_says() -> None:
    """Defect: the loop prices experts for other tokens than the model does, or the way there and back twice."""
    model = table_model(model_facts(CONFIG, where="made-up"), stack="vllm", tp=1, ep=2)
    options = PredictOptions(KNOWN, stack_named("vllm"), on_missing="estimate-all")
    one = predict(model, Batch.of([(100,)]), SOURCE, options)
    both = results_of(served(2, (0.0, 100, 1), (0.0, 100, 1)), check_tables=True)
    assert both.latency.ttft_ms is not None
    assert both.latency.ttft_ms.most == pytest.approx(one.iteration_ms, rel=1e-6)
    assert both.trust.table_error_p95 is not None
    assert both.trust.table_error_p95 < 0.02


def test_half_a_group_has_peers_like_itself_and_the_report_says_so() -> None:
    """Defect: one replica of two priced as if the experts' other tokens were free."""
    alone = results_of(served(1, (0.0, 100, 1)), check_tables=False)
    both = results_of(served(2, (0.0, 100, 1), (0.0, 100, 1)), check_tables=False)
    assert alone.latency.ttft_ms is not None
    assert both.latency.ttft_ms is not None
    assert alone.latency.ttft_ms.most == pytest.approx(both.latency.ttft_ms.most)
    assert any("as if the others had batches like its own" in note for note in alone.trust.notes)
