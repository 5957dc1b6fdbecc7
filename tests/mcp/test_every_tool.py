"""Every tool answers a good call, over each transport and in each era, to the real client."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from server.mcp.build import build_server
from server.tool import tools
from skills.desk import Desk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.mcp.conftest import Lines

ROW = {"num_tokens": 4, "hidden_size": 64, "dtype": "fp32"}
WIRE = {
    "kind": "rms_norms",
    "mode": "check_handoff",
    "handoff": {"backends": ["torch"], "args": list(ROW), "family": "memory", "smoke": ROW},
}
SERVED = {
    "model": "qwen3-0.6b",
    "stack": "transformers",
    "rate": 1.0,
    "requests": 8,
    "input_tokens": "16",
    "output_tokens": "4",
    "fields": {"pools.0.kv_blocks": 64, "pools.0.scheduler.max_model_len": 64},
}
ATOMIC = {
    "family": "norms",
    "name": "plain_norm",
    "form": "atomic",
    "sub_kernels": [{"slot": "norm", "kind": "rms_norm", "slot_input": "total_tokens"}],
}
NO_ROWS = {
    "kind": "rms_norm",
    "config": {"gpu_name": "cpu", "hidden_size": 64, "dtype": "fp32"},
    "threads": 1,
}
PROFILE = {"kind": "rms_norm", "backend": "torch", "specs": [ROW], "device_type": "cpu", "threads": 1}
ONE_LAYER = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
    "intermediate_size": 128, "vocab_size": 256, "max_position_embeddings": 512, "torch_dtype": "float32",
}  # fmt: skip


@pytest.fixture(params=["stdio", "memory, auto", "memory, legacy", "http"])
def connect(
    request: pytest.FixtureRequest, tmp_path: Path, start: Callable[..., Lines]
) -> Callable[[], contextlib.AbstractAsyncContextManager[Client]]:
    """Opens a client on a server of a fresh workspace."""
    way: str = request.param
    paths = {"SERVINGSIM_WORKSPACE": str(tmp_path / "workspace"), "SERVINGSIM_DB": str(tmp_path / "rows.db")}

    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Client]:
        if way.startswith("memory"):
            desk = Desk(tmp_path / "workspace", tmp_path / "rows.db", (tmp_path,))
            target: Any = build_server(desk)
        elif way == "stdio":
            arguments = ["-m", "server.cli", "serve"]
            target = StdioServerParameters(
                command=sys.executable, args=arguments, env={**os.environ, **paths}
            )
        else:
            from tests.mcp.conftest import Served  # noqa: PLC0415 - a conftest is imported by its users only

            command = [
                "-m",
                "server.cli",
                "serve",
                "--http",
                "--port",
                "0",
                "--db",
                str(tmp_path / "rows.db"),
            ]
            target = Served(start(*command), tmp_path / "stderr.txt").url
        mode = "legacy" if way.endswith("legacy") else "auto"
        async with Client(target, mode=mode, read_timeout_seconds=120) as client:
            yield client

    return opened


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.anyio
async def test_every_tool_answers_a_good_call(
    connect: Callable[[], contextlib.AbstractAsyncContextManager[Client]],
) -> None:
    """Defect: a tool that works on one transport only, or whose answer does not fit what it publishes."""
    called = set()
    async with connect() as client:
        published = {each.name: each.output_schema for each in (await client.list_tools()).tools}

        async def call(name: str, /, **arguments: object) -> dict[str, Any]:
            wait = {"wait_s": 50} if "wait_s" in tools()[name].takes.model_fields else {}
            answer = await client.call_tool(name, wait | arguments)
            envelope: dict[str, Any] = answer.structured_content or {}
            assert envelope["ok"], (name, envelope["error"])
            jsonschema.validate(envelope, published[name] or {})
            called.add(name)
            return envelope

        measured = await call("profile_kernel", **PROFILE)
        assert measured["result"]["measured"] == 1
        priced = await call(
            "predict", model="qwen3-0.6b", device="cpu", threads=1, stack="transformers", decode=["8"]
        )
        assert priced["result"]["iteration_ms"] > 0
        served = SERVED | {"device": priced["result"]["device"]}
        simulated = await call("simulate", **served)
        assert simulated["result"]["outcome"]["done"] == 8
        swept = await call("sweep", base=served, vary={"replicas": [1, 2]})
        assert len(swept["result"]["outcomes"]) == 2
        split = await call("split_model", config=ONE_LAYER, stack="transformers", without_capture=True)
        assert split["result"]["status"] in {"unverified", "pass"}
        assert (await call("wire_kernel", **WIRE))["result"]["status"] == "fail"
        assert (await call("compose_op", **ATOMIC))["result"]["one_liner"]
        await call("validate_cache", **NO_ROWS)
        started = (await call("campaign_start", goal="compose_op", op=ATOMIC))["result"]
        given = (await call("campaign_next", campaign_id=started["campaign_id"], worker="w"))["result"]
        handed_in = {"task_id": given["task"]["task_id"], "worker": "w", "blocked": "which norm is meant?"}
        await call("campaign_submit", campaign_id=started["campaign_id"], **handed_in)
        jobs = (await call("job_wait"))["result"]["jobs"]
        assert jobs
        await call("job_cancel", job_id=jobs[-1]["job_id"])
        page = await call("report_get", uri=split["kept"]["uri"])
        assert '"split_model"' in page["result"]["text"]
    assert called == set(tools())
