"""The worked example in a workspace of its own, and a judge that needs no measurement."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from skills.desk import Desk
from skills.subject import Subject
from skills.wire_kernel import snapshot
from skills.wire_kernel.agreed import agreed
from skills.wire_kernel.handoff import check_handoff
from skills.wire_kernel.ledger import Ledger
from skills.wire_kernel.run import SUBJECT
from skills.wire_kernel.schema import WireRequest
from skills.wire_kernel.standing import check_standing, load_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURE = Path(__file__).parents[1] / "fixtures" / "fused_add_rms_norm"
KIND = "fused_add_rms_norm"
REQUEST: dict[str, Any] = {
    "kind": KIND,
    "mode": "check",
    "handoff": {
        "backends": ["torch"],
        "args": ["num_tokens", "hidden_size", "dtype"],
        "family": "memory",
        "dtype_fields": {"compute": "dtype"},
        "smoke": {"num_tokens": 16, "hidden_size": 256, "dtype": "fp32"},
    },
    "shape": {
        "config": {"hidden_size": 1024, "dtype": "bf16"},
        "config_fields": ["hidden_size", "dtype", "max_num_tokens"],
        "input_fields": ["num_tokens"],
        "axes": ["num_tokens"],
        "grid": {"num_tokens": [1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]},
        "cache": "work_nd",
        "slot_input": "total_tokens",
    },
}


@pytest.fixture(scope="session")
def example() -> dict[str, Any]:
    """The request for the example, to be left as it is."""
    return REQUEST


@pytest.fixture
def wanted() -> dict[str, Any]:
    """A request for the example that a test may change."""
    return copy.deepcopy(REQUEST)


@pytest.fixture(scope="session")
def desk_at() -> Callable[[Path], Desk]:
    """Puts the example below a folder, and remembers the state of the hand-off."""

    def make(folder: Path) -> Desk:
        desk = Desk(folder / "workspace", folder / "rows.db", (folder,))
        shutil.copytree(FIXTURE, desk.workspace)
        snapshot.take(desk, KIND)
        return desk

    return make


@pytest.fixture
def desk(desk_at: Callable[[Path], Desk], tmp_path: Path) -> Desk:
    """The example, untouched since its hand-off."""
    return desk_at(tmp_path)


@pytest.fixture(scope="session")
def kernel_file() -> Callable[[Desk], Path]:
    """The simulator's file of the example."""
    return lambda desk: snapshot.kernel_path(desk, KIND)


@pytest.fixture(scope="session")
def judge() -> Callable[..., Ledger]:
    """Has R.3 look at what stands: all of it but the runs, with R.1 but its smoke run before it."""

    def look(desk: Desk, wanted: dict[str, Any], *, timeout_s: float = 30.0) -> Ledger:
        request, ledger = WireRequest.model_validate(wanted), Ledger()
        with Subject(desk, SUBJECT, timeout_s=30.0) as subject:
            measured = check_handoff(request, ledger, subject)
        with Subject(desk, SUBJECT, timeout_s=timeout_s) as subject:
            facts = load_kernel(request, ledger, subject, desk)
            if facts is not None:
                shape = agreed(request.shape)
                check_standing(request, shape, request.shape.cache, measured, facts, ledger, desk)
        return ledger

    return look
