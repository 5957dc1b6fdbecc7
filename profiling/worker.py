"""The measurement worker, `python -m profiling.worker`: the only process in which a kernel runs.

It answers one request at a time and ends, with every process that it started, as soon as its parent is gone.
"""

from __future__ import annotations

import gc
import importlib
import os
import queue
import resource
import signal
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, BinaryIO

from profiling import peaks, protocol
from profiling.contract import Backend, Setting
from profiling.registry import backend_named
from profiling.timers import time_launch
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Operation = Callable[[protocol.Message], protocol.Message]

MEMORY_SHARE = 0.9
"""Of the free memory: beyond it an allocation fails here, before the system ends another process for it."""


def main() -> None:
    """Measure kernels until the parent closes its end."""
    serve(OPERATIONS)


def serve(operations: Mapping[str, Operation]) -> None:
    """Answer requests by their `op` until the parent closes its end."""
    requests, answers = protocol.take_standard_streams()
    waiting: queue.SimpleQueue[protocol.Message] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    answers.write(protocol.encode(protocol.READY))
    while True:
        answers.write(protocol.encode(answer(waiting.get(), operations)))
        gc.collect()


def answer(request: protocol.Message, operations: Mapping[str, Operation]) -> protocol.Message:
    """Do what a request asks.

    Returns:
        `{"ok": true, ...}` with the result, or `{"ok": false, "reason", "usable"}`; `usable` is false where
        the process may have been left in a state that spoils the next measurement, `error` holds the facts of a
        refusal.
    """
    try:
        return {"ok": True} | operations[request["op"]](request)
    except ServingSimError as error:
        return {"ok": False, "reason": str(error), "usable": True, "error": error.facts()}
    except MemoryError as error:
        return {"ok": False, "reason": f"out of memory {error}".strip(), "usable": False}
    except Exception as error:  # noqa: BLE001 - the door of this process: a shape's fault costs that shape only
        return {"ok": False, "reason": f"{type(error).__name__}: {error}", "usable": False}


def _load(request: protocol.Message) -> protocol.Message:
    backend = backend_named(request["kind"], request["backend"])
    setting = Setting(**request["setting"])
    if setting.device_type == "cpu":
        _limit_memory(setting.free_memory_bytes)
    versions = _versions(backend)
    gc.collect()
    gc.freeze()  # the modules stay: walking them after every shape takes longer than a short kernel's samples
    return {"libraries": versions}


def _measure(request: protocol.Message) -> protocol.Message:
    backend = backend_named(request["kind"], request["backend"])
    setting = Setting(**request["setting"])
    launch = backend.prepare(setting, **request["args"])
    timing = time_launch(launch, setting, budget_s=request["budget_s"], min_samples=request["min_samples"])
    return {"timing": asdict(timing)}


def _peaks(request: protocol.Message) -> protocol.Message:
    return asdict(peaks.measure(Setting(**request["setting"]), with_torch=request["with_torch"]))


OPERATIONS: dict[str, Operation] = {
    "load": _load,
    "measure": _measure,
    "peaks": _peaks,
}


def _versions(backend: Backend) -> dict[str, str]:
    """Versions of the modules that a backend needs, after importing them."""
    modules = {name: importlib.import_module(name) for name in backend.requires}
    return {name: str(getattr(module, "__version__", "unknown")) for name, module in modules.items()}


def _limit_memory(free_bytes: int) -> None:
    """Let private writable memory grow by a share of what is free."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used + int(free_bytes * MEMORY_SHARE)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


def _receive(requests: BinaryIO, waiting: queue.SimpleQueue[protocol.Message]) -> None:
    for message in protocol.messages(requests):
        waiting.put(message)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
