"""The claims that the tests make, and a workspace to make them in."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from server.tools.compose_op import TOOL
from servingsim.validation import parse
from skills.compose_op.schema import ComposeReport
from skills.desk import Desk
from skills.watch import Unwatched

FUSED = Path(__file__).resolve().parents[1] / "fixtures" / "fused_add_rms_norm"

DENSE: dict[str, Any] = {
    "family": "attention",
    "name": "dense",
    "form": "compound",
    "justification": "both halves read one KV cache and are one softmax",
    "worklet_slot": "attention section",
    "input_fields": ["q_len", "prefix_len", "kv_len"],
    "sub_kernels": [
        {
            "slot": "prefill",
            "kind": "attention_prefill",
            "slot_input": "prefill_requests",
            "config": {
                "max_num_seqs": "max_batch_size",
                "max_model_len": "max_kv_len",
                "prefill_backends": "backends",
            },
        },
        {
            "slot": "decode",
            "kind": "attention_decode",
            "slot_input": "decode_requests",
            "config": {
                "max_num_seqs": "max_batch_size",
                "max_model_len": "max_kv_len",
                "decode_backends": "backends",
            },
        },
    ],
    "config_example": {
        "gpu_name": "dev",
        "num_heads": 8,
        "num_kv_heads": 2,
        "head_dim": 16,
        "dtype": "bf16",
        "kv_dtype": "fp8",
        "window_size": 0,
        "max_num_tokens": 256,
        "max_num_seqs": 4,
        "max_model_len": 1024,
        "max_kv_tokens": 4096,
        "prefill_backends": ["flashinfer"],
        "decode_backends": ["torch"],
    },
}

NORM_PROJ: dict[str, Any] = {
    "family": "norm",
    "name": "norm_proj",
    "justification": "the projection reads the rows that the norm leaves, on one hidden size",
    "worklet_slot": "layers.mlp.input",
    "sub_kernels": [
        {"slot": "norm", "kind": "fused_add_rms_norm", "slot_input": "total_tokens"},
        {
            "slot": "proj",
            "kind": "single_gemm",
            "slot_input": "total_tokens",
            "config": {"hidden_size": "k", "out_features": "n", "max_num_tokens": "max_m"},
        },
    ],
    "config_example": {
        "gpu_name": "dev",
        "hidden_size": 64,
        "out_features": 128,
        "dtype": "bf16",
        "max_num_tokens": 256,
    },
}


@dataclass(frozen=True)
class Bench:
    """The tool in a workspace, and the two claims that tests vary."""

    desk: Desk
    written: dict[str, str]

    def ask(self, claim: dict[str, Any], **changes: Any) -> ComposeReport:  # noqa: ANN401 - any field
        """Call the tool with a claim and what differs from it."""
        report = TOOL.run(parse(TOOL.takes, claim | changes, where="compose_op"), self.desk, Unwatched())
        assert isinstance(report, ComposeReport)
        return report

    def dense(self, **changes: Any) -> ComposeReport:  # noqa: ANN401 - any field
        """The op that the project ships."""
        return self.ask(DENSE, **changes)

    def norm_proj(self, **changes: Any) -> ComposeReport:  # noqa: ANN401 - any field
        """An op over a kernel of the workspace and one of the package."""
        return self.ask(NORM_PROJ, **changes)

    def edited(self, *edits: tuple[str, str], file: int = 0, **changes: Any) -> ComposeReport:  # noqa: ANN401 - any field
        """Scaffold norm_proj, edit its code (0) or its tests (1), and check what stands there then."""
        path = self.scaffolded()[file]
        text = path.read_text(encoding="utf-8")
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return self.norm_proj(**changes)

    def scaffolded(self) -> list[Path]:
        """Code and tests of norm_proj as the skill writes them."""
        paths = [self.desk.workspace / name for name in self.written]
        for path, text in zip(paths, self.written.values(), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return paths

    @property
    def files(self) -> set[str]:
        """Every file of the workspace."""
        root = self.desk.workspace
        return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def _bench(folder: Path, written: dict[str, str]) -> Bench:
    workspace = folder / "workspace"
    shutil.copytree(FUSED, workspace, ignore=shutil.ignore_patterns("__pycache__"))
    return Bench(Desk(workspace, folder / "rows.db", (folder,)), written)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of one scaffold, by name: tests that edit them need not pay for it again."""
    first = _bench(tmp_path_factory.mktemp("scaffold"), {})
    files = first.norm_proj(mode="scaffold").files
    return {name: (first.desk.workspace / name).read_text(encoding="utf-8") for name in files}


@pytest.fixture
def bench(tmp_path: Path, written: dict[str, str]) -> Bench:
    """A workspace that holds the fused kernel, as wire_kernel leaves it."""
    return _bench(tmp_path, written)
