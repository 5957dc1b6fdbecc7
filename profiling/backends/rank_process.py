"""One rank of a collective, `python -m profiling.backends.rank_process`: a process that times launches.

It ends when whoever started it closes its end, however that came about.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiling import protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from torch import Tensor

MESSAGES = 3
"""Buffers to rotate through. In a forward the message has just been written, so it need not be cold."""
MEETING_TIMEOUT_S = 110.0


def main() -> None:
    """Meet the other ranks, then serve until the parent closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    requests, answers = protocol.take_standard_streams()
    spec = json.loads(os.environ["SERVINGSIM_RANK"])
    torch = importlib.import_module("torch")
    torch.set_num_threads(spec["threads"])
    rank = Rank(torch, importlib.import_module("torch.distributed"), spec)
    answers.write(protocol.encode({"ready": True}))
    for request in protocol.messages(requests):
        answers.write(protocol.encode(rank.answer(request)))
    # Whoever started this rank may be gone without having cleared up.
    shutil.rmtree(Path(spec["meeting"]).parent, ignore_errors=True)
    os._exit(0)  # the others may be gone already: no farewell


class Rank:
    """A rank that has met the others."""

    def __init__(self, torch: ModuleType, distributed: ModuleType, spec: dict[str, Any]) -> None:
        self._torch = torch
        self._distributed = distributed
        self._number: int = spec["rank"]
        self._device = f"cuda:{self._number}" if spec["transport"] == "nccl" else "cpu"
        if spec["transport"] == "nccl":
            torch.cuda.set_device(self._number)
        distributed.init_process_group(
            spec["transport"],
            init_method=f"file://{spec['meeting']}",
            rank=self._number,
            world_size=spec["num_ranks"],
            timeout=timedelta(seconds=MEETING_TIMEOUT_S),
        )
        dtype = getattr(torch, spec["dtype"])
        # Sums of zeros stay zero, however many launches.
        self._messages = [
            torch.zeros(spec["elements"], dtype=dtype, device=self._device) for _ in range(MESSAGES)
        ]
        self._ranks: int = spec["num_ranks"]
        self._launch: Callable[[Tensor], Tensor] = getattr(self, f"_{spec['op']}")
        self._initial = 1 - self._number if spec["op"] == "p2p" else self._number + 1

    def answer(self, request: protocol.Message) -> protocol.Message:
        """Do what a request asks."""
        if request["op"] == "once":
            return {"held": self._once()}
        return {"ms": [self._time(self._messages[index % MESSAGES]) for index in range(request["count"])]}

    def _once(self) -> dict[str, float]:
        message = self._torch.full_like(self._messages[0], self._initial)
        held = self._launch(message)
        return {"smallest": float(held.min()), "largest": float(held.max())}

    def _time(self, message: Tensor) -> float:
        """Milliseconds from the barrier until this rank is done."""
        self._distributed.barrier()
        if self._device != "cpu":
            return self._time_on_device(message)
        begin_ns = time.perf_counter_ns()
        self._launch(message)
        return (time.perf_counter_ns() - begin_ns) / 1e6

    def _time_on_device(self, message: Tensor) -> float:
        cuda = self._torch.cuda
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        cuda.synchronize()
        begin.record()
        self._launch(message)
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))

    def _all_reduce(self, message: Tensor) -> Tensor:
        self._distributed.all_reduce(message)
        return message

    def _all_gather(self, message: Tensor) -> Tensor:
        """Each rank gives one part of the message; the parts of all come back."""
        gathered = self._torch.empty_like(message)
        self._distributed.all_gather_into_tensor(gathered, message[: len(message) // self._ranks])
        return gathered

    def _reduce_scatter(self, message: Tensor) -> Tensor:
        """The sum of all messages, of which each rank keeps one part."""
        part = self._torch.empty_like(message[: len(message) // self._ranks])
        self._distributed.reduce_scatter_tensor(part, message)
        return part

    def _all_to_all(self, message: Tensor) -> Tensor:
        """An equal part of the message to each rank; what arrives is held in the order of the senders."""
        received = self._torch.empty_like(message)
        self._distributed.all_to_all_single(received, message)
        return received

    def _all_to_all_sum(self, message: Tensor) -> Tensor:
        """As `_all_to_all`, and the parts added up."""
        return self._all_to_all(message).view(self._ranks, -1).sum(0)

    def _p2p(self, message: Tensor) -> Tensor:
        """From rank 0 to rank 1."""
        if self._number == 0:
            self._distributed.send(message, dst=1)
        else:
            self._distributed.recv(message, src=0)
        return message


if __name__ == "__main__":
    main()
