"""The worked example: an orchestrator and an implementer that share nothing but a campaign, over MCP alone.

The orchestrator starts a campaign from what the profiling side knows about a fused residual-add and RMSNorm. The
implementer asks for the next task, does what its brief says with the skills' tools, and hands the report in, until
the campaign closes out. A question for the user (what a noisy machine could not show) is answered with accept, which
the closeout lists. Everything that is written is written by a tool, so that the call log is the whole story.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "fused_add_rms_norm"
KIND = "fused_add_rms_norm"
OP = "norm_proj"
DEVICE_CONFIG = {"gpu_name": "cpu", "hidden_size": 4096, "dtype": "fp32", "max_num_tokens": 1024}

WIRE = {
    "kind": KIND,
    "handoff": {
        "backends": ["torch"],
        "args": ["num_tokens", "hidden_size", "dtype"],
        "family": "memory",
        "dtype_fields": {"compute": "dtype"},
        "smoke": {"num_tokens": 16, "hidden_size": 256, "dtype": "fp32"},
    },
    "shape": {
        "config": {"hidden_size": 4096, "dtype": "fp32", "max_num_tokens": 1024},
        "config_fields": ["hidden_size", "dtype", "max_num_tokens"],
        "input_fields": ["num_tokens"],
        "axes": ["num_tokens"],
        "grid": {"num_tokens": [1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]},
        "cache": "work_nd",
        "slot_input": "total_tokens",
    },
}
COMPOSE = {
    "family": "norms",
    "name": OP,
    "form": "compound",
    "sub_kernels": [
        {"slot": "norm", "kind": KIND, "slot_input": "total_tokens"},
        {"slot": "proj", "kind": "single_gemm", "slot_input": "total_tokens", "config": {"hidden_size": "k"}},
    ],
    "config_fields": ["hidden_size", "n", "dtype"],
    "justification": "the projection reads the normalised rows that the norm has just written: one residual stream",
    "config_example": {"gpu_name": "cpu", "hidden_size": 1024, "n": 3072, "dtype": "fp32"},
    "worklet_slot": "layers.attention, in place of norm and qkv_proj",
}
FIDELITY = {
    "config": DEVICE_CONFIG,
    "fill": True,
    "bar": 0.5,
    "within_rate": 0.75,
    "max_probes": 20,
    "threads": 1,
}


@dataclass(frozen=True)
class Turn:
    """One call and its answer, as the transcript shows it."""

    role: str
    tool: str
    arguments: dict[str, Any]
    envelope: dict[str, Any]


def prepare(workspace: Path) -> None:
    """The profiling side, which is there before a kernel can be wired: its registry entry and its runner."""
    shutil.copytree(FIXTURE / "profiling", workspace / "profiling", dirs_exist_ok=True)


def server(workspace: Path, db: Path) -> StdioServerParameters:
    """The real server in a process of its own."""
    environment = {**os.environ, "SERVINGSIM_WORKSPACE": str(workspace), "SERVINGSIM_DB": str(db)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "server.cli", "serve"], env=environment, cwd=str(Path.cwd())
    )


class Agent:
    """One side of the work: it calls tools and keeps what it saw."""

    def __init__(self, role: str, client: Client, seen: Callable[[Turn], None]) -> None:
        self._role, self._client, self._seen = role, client, seen

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - plain data
        """Call a tool, and wait for the job where the call became one."""
        answer = await self._client.call_tool(tool, arguments)
        envelope: dict[str, Any] = answer.structured_content or {}
        while envelope["ok"] and envelope["job"] and envelope["job"]["poll_after_s"]:
            waiting = {"job_id": envelope["job"]["job_id"], "wait_s": 50}
            answer = await self._client.call_tool("job_wait", waiting)
            waited: dict[str, Any] = answer.structured_content or {}
            if waited["ok"]:
                ended = waited["result"]
                envelope = {**waited, **{part: ended[part] for part in ("job", "result", "error", "kept")}}
                envelope["ok"] = ended["error"] is None
            else:
                envelope = waited
        self._seen(Turn(self._role, tool, arguments, envelope))
        if not envelope["ok"]:
            raise AssertionError(f"{tool}: {envelope['error']}")
        return envelope


async def run(workspace: Path, db: Path) -> list[Turn]:
    """Wire the kernel, validate its cache on this CPU, compose an op that uses it, and close out."""
    prepare(workspace)
    turns: list[Turn] = []
    async with Client(server(workspace, db), read_timeout_seconds=90) as client:
        orchestrator = Agent("orchestrator", client, turns.append)
        started = await orchestrator.call(
            "campaign_start", goal="wire_kernel", wire=WIRE, op=COMPOSE, fidelity=FIDELITY, share=0.05
        )
        campaign = started["result"]["campaign_id"]
    # The implementer is another process with another connection: the campaign is all that they share.
    async with Client(server(workspace, db), read_timeout_seconds=90) as client:
        implementer = Agent("implementer", client, turns.append)
        decisions: dict[str, str] = {}
        while True:
            asked = {"campaign_id": campaign, "worker": "implementer", "decisions": decisions}
            given = (await implementer.call("campaign_next", **asked))["result"]
            decisions = {each["id"]: "accept" for each in given["decisions"]}
            if given["task"] is not None:
                await _work(implementer, campaign, given["task"])
            elif not decisions:
                return turns


async def _work(implementer: Agent, campaign: str, task: dict[str, Any]) -> None:
    """Do what a brief says, and hand the report in."""
    tool, arguments = task["call"]["tool"], task["call"]["arguments"]
    if tool in {"wire_kernel", "compose_op"}:
        await implementer.call(tool, **{**arguments, "mode": "scaffold"})
    report = await implementer.call(tool, **arguments)
    await implementer.call(
        "campaign_submit",
        campaign_id=campaign,
        task_id=task["task_id"],
        worker="implementer",
        report_id=report["kept"]["report_id"],
    )
