"""A capture as a source of kernel times: for a device that is not at hand, whose kernels nobody has measured.

Rows are launches of the captured steps, at the sizes that the steps had. What lies between or beyond them is read as
any rows are. The device's limits are those of its datasheet where it is known, else twice the best that the capture
shows: no more than a guard against nonsense.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from profiling.datasheet import datasheet_device
from profiling.registry import kinds
from server.align.captured_attention import AttentionLaunch, attention_rates, attention_rows
from servingsim.timing.source import DeviceSpec, MemorySource

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from profiling.captures.capture import Capture
    from server.align.captured_rows import StepTimes
    from servingsim.sim.truth.iterations import Iteration
    from servingsim.timing.source import KernelRows, Payload
    from skills.split_model.draft import Draft

HEADROOM = 2.0
MEMORY_BYTES = 2**40
"""Where the capture's device is unknown: nothing is refused for its memory."""
LAUNCH_FLOOR_MS = 1e-4
PRODUCTS = ("single_gemm", "grouped_gemm", "fused_moe")
ATTENTION = ("attention_prefill", "attention_decode")


@dataclass
class CapturedSource(MemorySource):
    """Rows of a capture; every backend that a stack asks for is the captured one.

    Attributes:
        label: Backend of the rows.
        file: Where they come from.
    """

    label: str = "captured"
    file: str = ""
    _spreads: dict[str, float] = field(default_factory=dict)

    def rows(
        self, kind: str, device: str, backend: str, fixed: Payload, swept: Sequence[str]
    ) -> KernelRows | None:
        """Rows of the kind, whatever backend is asked for: the engine's own kernels ran."""
        del backend
        found = super().rows(kind, device, self.label, fixed, swept)
        if found is None:
            return None
        said = replace(found.provenance, backend=self.label, source=f"launches of {self.file}")
        return replace(found, provenance=said)


def captured_source(
    capture: Capture,
    drafts: Sequence[Draft],
    times: Mapping[int, StepTimes],
    batches: Mapping[int, Iteration],
) -> tuple[CapturedSource, str]:
    """The source, and the name of its device.

    Args:
        capture: Where the launches come from.
        drafts: Rows of the table.
        times: What each took in each step.
        batches: What each step computed.
    """
    device = next((each.name for each in capture.devices if each.name), "device")
    device = f"{device} of {capture.path.name}" if datasheet_device(device) is None else device
    source = CapturedSource(label="captured", file=capture.path.name)
    kept = _rows(drafts, times, batches)
    for (kind, args), seen in kept.items():
        source.add(kind, device, source.label, dict(args), float(np.median(seen)))
    for kind, sizes, time_ms in _attention(drafts, times, batches):
        source.add(kind, device, source.label, sizes, max(time_ms, LAUNCH_FLOOR_MS))
    source.devices[device] = _device(device, kept)
    return source, device


def _rows(
    drafts: Sequence[Draft], times: Mapping[int, StepTimes], batches: Mapping[int, Iteration]
) -> dict[tuple[str, tuple[tuple[str, Any], ...]], list[float]]:
    found: dict[tuple[str, tuple[tuple[str, Any], ...]], list[float]] = defaultdict(list)
    for index, step in times.items():
        if index not in batches:
            continue
        for op in step.ops:
            kind = drafts[op.row].maps_to.until_then or drafts[op.row].maps_to.kind
            args = row_args(drafts[op.row], batches[index])
            if args is not None and kind not in ATTENTION:
                found[kind, tuple(sorted(args.items()))] += [
                    max(each, LAUNCH_FLOOR_MS) for each in op.launch_ms
                ]
    return found


def _attention(
    drafts: Sequence[Draft], times: Mapping[int, StepTimes], batches: Mapping[int, Iteration]
) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Rows of attention of each geometry, from all launches of it together."""
    seen: dict[tuple[tuple[str, Any], ...], list[AttentionLaunch]] = defaultdict(list)
    for index in times.keys() & batches.keys():
        for op in times[index].ops:
            maps = drafts[op.row].maps_to
            if maps.kind in ATTENTION:
                seen[tuple(sorted(maps.args.items()))].append(AttentionLaunch(batches[index], op.typical_ms))
    for geometry, launches in seen.items():
        rates = attention_rates(launches, dict(geometry))
        if rates is not None:
            yield from attention_rows(rates, dict(geometry))


def row_args(draft: Draft, batch: Iteration) -> dict[str, Any] | None:
    """Args of one launch of a row in a batch; None where it has more axes than the batch's size."""
    maps = draft.maps_to
    args: dict[str, Any] = dict(maps.args)
    size = {"tokens": batch.num_tokens, "sampled": batch.num_requests}.get(draft.counted)
    if size is None or len(maps.axes) != 1:
        return None
    return args | {maps.axes[0]: round(size * draft.width)}


def _device(name: str, rows: Mapping[tuple[str, tuple[tuple[str, Any], ...]], list[float]]) -> DeviceSpec:
    known = datasheet_device(name)
    if known is not None and known.has_limits:
        return known.spec()
    known_kinds, flops, moved = kinds(), [1.0], [1.0]
    for (kind, args), seen in rows.items():
        # Only products: anything else may have found its operands in a cache.
        work = known_kinds[kind].work(**dict(args)) if kind in PRODUCTS else None
        if work is not None:
            flops.append(float(work.flops) / (min(seen) * 1e-3))
            moved.append(float(work.bytes_moved) / (min(seen) * 1e-3))
    peak = HEADROOM * max(flops)
    return DeviceSpec(
        name=name,
        peak_flops=dict.fromkeys(
            ("fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp8_block", "mxfp4", "nvfp4"), peak
        ),
        memory_bytes_per_s=HEADROOM * max(moved),
        memory_bytes=MEMORY_BYTES,
        limits_origin=f"{HEADROOM:g} times the best of the capture",
    )
