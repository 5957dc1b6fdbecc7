"""The profiling contract: what a kernel kind and a backend have to define to be measurable.

`kernels/<kind>.py` defines `KIND`; `backends/<backend>/<kind>.py` defines `BACKEND`. Both are data and import no
torch: heavy imports happen inside `prepare`, which only ever runs in a measurement worker.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from servingsim.timing.work.amount import Work

DeviceType = Literal["cpu", "cuda"]
Family = Literal["compute", "memory", "attention", "collective"]
Size = Annotated[int, Field(ge=1, le=2**40)]
Dtype = Literal["fp32", "bf16", "fp16", "fp8", "fp8_block", "int8", "int4", "mxfp4", "nvfp4"]


class KernelArgs(BaseModel):
    """Typed, ordered args of one kind: order = database key = runner keywords = spec keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


@dataclass(frozen=True)
class KernelKind:
    """A kind that can be measured.

    Attributes:
        name: Equal to the file's stem, the table and the facade stem.
        args: The args model; its fields in order are the table's key columns.
        family: Which metrics make sense for it.
        work: FLOPs and bytes from the args, one model for all backends.
        smoke: A small representative spec that every backend of the kind can run.
        dtype_fields: Args fields that hold a dtype, `compute` and (where there is one) `kv`.
    """

    name: str
    args: type[KernelArgs]
    family: Family
    work: Callable[..., Work]
    smoke: dict[str, int | str]
    dtype_fields: dict[Literal["compute", "kv"], str]

    @property
    def fields(self) -> tuple[str, ...]:
        """Args fields in order."""
        return tuple(self.args.model_fields)


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class Launch:
    """One prepared shape, ready to be timed.

    Attributes:
        calls: The callables to rotate through, each on its own operands, so that no call finds the operands of the
            one before in a cache. Each does one launch of the kernel. At least one.
        ranks: Processes that take part (1 for compute kinds).
        scope: Opens the context that the calls run under, `torch.inference_mode` for torch's.
        displace: "llc" to push everything out of the last-level cache before each sample; rotating is enough
            where the operands' copies together are larger than the cache.
        between: Runs before each sample, untimed: what else a forward pass does between two such launches. A
            sample is then a single launch.
        sample: For launches that no clock in this process can time: times so many launches and returns
            milliseconds each, over ranks the maximum.
        close: Ends what `prepare` started. Called once, after the timing, whether it succeeded or not.
    """

    calls: Sequence[Callable[[], Any]]
    ranks: int = 1
    scope: Callable[[], AbstractContextManager[Any]] = nullcontext
    displace: Literal["none", "llc"] = "none"
    between: Callable[[], object] | None = None
    sample: Callable[[int], list[float]] | None = None
    close: Callable[[], None] = _nothing


@dataclass(frozen=True)
class Setting:
    """What a runner may know about where it runs."""

    device_type: DeviceType
    threads: int
    last_level_cache_bytes: int
    free_memory_bytes: int


@dataclass(frozen=True)
class Backend:
    """A way to run a kind.

    Attributes:
        name: Backend string, as in `--backend`.
        kind: The kind it runs.
        devices: Device types it runs on.
        compute_dtypes: Compute dtypes it accepts.
        kv_dtypes: KV dtypes it accepts, empty where the kind has none.
        requires: Modules that have to be importable.
        prepare: Allocates operands (rotated over more than the last-level cache) and returns the Launch; runs in a
            worker process. Keyword arguments are the args fields.
        supports: A reason why these args cannot run (empty string: they can), beyond dtype and device.
    """

    name: str
    kind: str
    devices: tuple[DeviceType, ...]
    compute_dtypes: tuple[Dtype, ...]
    prepare: Callable[..., Launch]
    kv_dtypes: tuple[Dtype, ...] = ()
    requires: tuple[str, ...] = ()
    supports: Callable[..., str] = lambda **_: ""
