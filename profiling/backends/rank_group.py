"""The processes of a collective, seen from the worker: start them, have them time launches, end them.

Ranks stay in the worker's process group, and end by themselves when the worker is gone (`rank_process`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from profiling import protocol
from profiling.contract import Launch
from profiling.discovery import PACKAGE_ROOT
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

START_TIMEOUT_S = 120.0
"""For importing torch and meeting the others, on few cores."""
ANSWER_TIMEOUT_S = 120.0
TAIL_CHARACTERS = 400


@dataclass(frozen=True)
class RankJob:
    """What every rank of a group does.

    Attributes:
        transport: `gloo` or `nccl`.
        op: `all_reduce`; `all_gather` and `reduce_scatter` of equal parts of the message; `p2p` from rank 0 to rank 1;
            `all_to_all` of equal parts, `all_to_all_sum` of what arrived.
        num_ranks: Ranks.
        elements: Elements of the message.
        dtype: Their dtype, as torch calls it.
        threads: CPU threads of each rank.
    """

    transport: str
    op: str
    num_ranks: int
    elements: int
    dtype: str
    threads: int


@dataclass(frozen=True)
class Held:
    """What a rank holds after one launch on known numbers: its smallest and its largest element."""

    smallest: float
    largest: float


class RankGroup:
    """Running ranks, connected to each other.

    Raises:
        ServingSimError: E_TOOLCHAIN, when a rank cannot start; every rank is ended by then.
    """

    def __init__(self, job: RankJob) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="servingsim-ranks-"))
        self._ranks: list[subprocess.Popen[bytes]] = []
        try:
            self._ranks.extend(self._start(job, rank) for rank in range(job.num_ranks))
            self._answers(START_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    def once(self) -> list[Held]:
        """One launch on known numbers: rank r brings r + 1, but rank 0 of a p2p sends 1."""
        return [Held(**answer["held"]) for answer in self._ask({"op": "once"})]

    def time(self, count: int) -> list[float]:
        """Milliseconds of so many launches, each from the barrier before it until the last rank is done."""
        per_rank = [answer["ms"] for answer in self._ask({"op": "time", "count": count})]
        return [max(of_launch) for of_launch in zip(*per_rank, strict=True)]

    def close(self) -> None:
        """End every rank."""
        for rank in self._ranks:
            rank.kill()
        for rank in self._ranks:
            rank.wait()
            for stream in (rank.stdin, rank.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, job: RankJob, rank: int) -> subprocess.Popen[bytes]:
        spec = asdict(job) | {"rank": rank, "meeting": str(self._folder / "meeting")}
        with self._words(rank).open("wb") as stderr:
            return subprocess.Popen(
                [sys.executable, "-m", "profiling.backends.rank_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=_environment(spec),
            )

    def _ask(self, request: protocol.Message) -> list[protocol.Message]:
        for number, rank in enumerate(self._ranks):
            try:
                if rank.stdin is not None:
                    rank.stdin.write(protocol.encode(request))
                    rank.stdin.flush()
            except OSError as error:
                raise self._fault(number) from error
        return self._answers(ANSWER_TIMEOUT_S)

    def _answers(self, timeout_s: float) -> list[protocol.Message]:
        """One answer of each rank; ranks that take longer are killed, which ends the waiting for them."""
        late = threading.Timer(timeout_s, self._kill)
        late.start()
        try:
            return list(self._received())
        finally:
            late.cancel()

    def _received(self) -> Iterator[protocol.Message]:
        for number, rank in enumerate(self._ranks):
            message = None
            while message is None:
                line = rank.stdout.readline() if rank.stdout is not None else b""
                if not line:
                    raise self._fault(number)
                message = protocol.decode(line)
            yield message

    def _kill(self) -> None:
        for rank in self._ranks:
            rank.kill()

    def _fault(self, number: int) -> ServingSimError:
        """Why a rank has no answer; a rank that fails takes the others along, so its words come first."""
        code = self._ranks[number].wait()
        words = self._words(number).read_text(errors="replace").strip().splitlines()[-1:]
        tail = f": {words[0][-TAIL_CHARACTERS:]}" if words else ""
        how = "did not answer in time" if code == -signal.SIGKILL else f"ended with code {code}"
        return ServingSimError(
            f"rank {number} of {len(self._ranks)} {how}{tail}",
            code="E_TOOLCHAIN",
            hint="check that processes of this machine can reach each other over its loopback interface",
        )

    def _words(self, rank: int) -> Path:
        return self._folder / f"rank{rank}.err"


def launch(job: RankJob) -> Launch:
    """Start the ranks of a job; they end with the launch."""
    group = RankGroup(job)
    return Launch(calls=(group.once,), ranks=job.num_ranks, sample=group.time, close=group.close)


def _environment(spec: dict[str, Any]) -> dict[str, str]:
    # A checkout has to be named; naming site-packages would put it before the standard library.
    checkout = "" if str(PACKAGE_ROOT) in site.getsitepackages() else str(PACKAGE_ROOT)
    paths = [checkout, os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OMP_NUM_THREADS": str(spec["threads"]),
        # Ranks of one machine need no name service, which containers often lack.
        "GLOO_SOCKET_IFNAME": os.environ.get(
            "GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0"
        ),
        "SERVINGSIM_RANK": protocol.encode(spec).decode(),
    }
