"""A small world for sweeps: a made-up device whose kernels are estimated from its limits, a bundled model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servingsim.archs.hf_config import read_facts
from servingsim.archs.models import config_path
from servingsim.sim.sweep.spec import SweepSpec
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from servingsim.archs.facts import DenseFacts
    from servingsim.sim.serving.deployment import Deployment

PEAKS = {"bf16": 4e14, "fp16": 4e14, "fp32": 4e13}
DEVICE = DeviceSpec("made-up", PEAKS, memory_bytes_per_s=2e12, memory_bytes=80 * 10**9, link_bytes_per_s=4e11)


@dataclass(frozen=True)
class Estimates:
    """No rows at all: `identity` alone tells two of them apart."""

    identity: str = "estimates"

    def source(self) -> MemorySource:
        return MemorySource({DEVICE.name: DEVICE})

    def models(self, deployment: Deployment) -> list[DenseFacts]:
        return [read_facts(config_path(Path(deployment.model))) for _pool in deployment.pools]


def spec(**changed: Any) -> SweepSpec:  # noqa: ANN401 - fields of a sweep, checked by its model
    """A sweep over Qwen3 0.6B: fifty short requests, eight a second."""
    scheduler = {"max_num_seqs": 16, "max_num_tokens": 512, "max_model_len": 1024}
    return SweepSpec.model_validate(
        {
            "deployment": {
                "model": "qwen3-0.6b",
                "pools": [{"device": DEVICE.name, "usd_per_hour": 2.0, "scheduler": scheduler}],
            },
            "workload": {
                "requests": 50,
                "prompt": {"kind": "uniform", "mean": 200},
                "output": {"mean": 20},
                "arrivals": {"rate_per_s": 8.0},
            },
            **changed,
        }
    )
