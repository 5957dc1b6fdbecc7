"""Small deployments of a small model whose kernels are estimated from a made-up device's limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from servingsim.archs.hf_config import dense_facts
from servingsim.sim.serving.deployment import Deployment, Pool, Scheduler
from servingsim.sim.serving.simulate import simulate
from servingsim.sim.workload.contract import plain_workload
from servingsim.sim.workload.load import workload_of
from servingsim.sim.workload.spec import WorkloadSpec
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from servingsim.sim.serving.simulate import LogPiece, Simulated
    from servingsim.sim.workload.contract import Workload

CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 5,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "torch_dtype": "bfloat16",
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
PEAKS = {"fp32": 2e9, "bf16": 4e10, "fp16": 4e10}
KNOWN, UNKNOWN = "made-up device", "device without known peaks"
SOURCE = MemorySource(
    {
        KNOWN: DeviceSpec(KNOWN, PEAKS, 1e9, 10**8, link_bytes_per_s=1e9),
        UNKNOWN: DeviceSpec(UNKNOWN, {"fp32": 1e9}, 1e9, 10**8),
    }
)


class Serve(Protocol):
    """Simulates; fields of the pools in place of the defaults."""

    def __call__(
        self,
        workload: Workload | WorkloadSpec,
        *pools: Mapping[str, object],
        on_log: Callable[[LogPiece], None] | None = None,
    ) -> Simulated: ...


SCHEDULER = {"max_num_tokens": 256, "max_num_seqs": 16, "max_model_len": 512}


def pool(**fields: Any) -> Pool:  # noqa: ANN401 - fields of a pool, checked there
    """A small pool."""
    scheduler = SCHEDULER | fields.pop("scheduler", {})
    return Pool.model_validate(
        {"device": KNOWN, "kv_blocks": 512, "scheduler": Scheduler.model_validate(scheduler)} | fields
    )


@pytest.fixture(scope="session")
def serve() -> Serve:
    """To simulate a small deployment."""
    facts = dense_facts(CONFIG, where="made-up")

    def served(
        workload: Workload | WorkloadSpec,
        *pools: Mapping[str, object],
        on_log: Callable[[LogPiece], None] | None = None,
    ) -> Simulated:
        if isinstance(workload, WorkloadSpec):
            workload = workload_of(workload)
        deployment = Deployment(model="made-up", pools=tuple(pool(**dict(each)) for each in pools or ({},)))
        models = [facts] * len(deployment.pools)
        return simulate(deployment, workload, models, SOURCE, on_log=on_log, log_requests=on_log is not None)

    return served


@pytest.fixture(scope="session")
def busy() -> Workload:
    """Eighty requests of mixed lengths, faster than one replica takes them."""
    return workload_of(
        WorkloadSpec.model_validate(
            {
                "requests": 80,
                "prompt": {"kind": "lognormal", "mean": 120, "most": 300},
                "output": {"kind": "lognormal", "mean": 20, "most": 60},
                "arrivals": {"rate_per_s": 20},
            }
        )
    )


@pytest.fixture(scope="session")
def alone() -> Workload:
    """One request."""
    import numpy as np  # noqa: PLC0415 - arrays of one

    return plain_workload("alone", "by hand", np.zeros(1), np.array([100]), np.array([11]))
