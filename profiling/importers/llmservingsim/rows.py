"""The rows of one rank's folder."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from profiling.importers.llmservingsim.csv_table import TIME, read_table
from profiling.importers.llmservingsim.experts import expert_rows
from profiling.importers.llmservingsim.layers import NOT_IMPORTED, layers
from profiling.row import MeasuredRow, Origins, Timing
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from profiling.importers.llmservingsim.profile import Profile
    from profiling.importers.llmservingsim.shape import Shape
    from servingsim.timing.source import ArgValue

SAMPLES = 3
"""Iterations behind a time, the profiler's default; the files hold their mean."""
ATTENTION = ("prefill_chunk", "kv_prefill", "n_decode", "kv_decode")
NOTHING = "nothing is computed: its count is 0"
COUNTED = {"dense.csv": "tokens", "per_sequence.csv": "sequences"}


@dataclass
class FolderRows:
    """What a folder gave: rows by file, and what was left out by reason."""

    rows: dict[str, list[MeasuredRow]] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class RankFolder:
    """One rank's files.

    Attributes:
        path: The folder.
        shape: The rank's sizes.
        profile: Whose it is.
        device: Device key of the rows.
        source: Words for the provenance.
    """

    path: Path
    shape: Shape
    profile: Profile
    device: str
    source: str

    def read(self) -> FolderRows:
        """Every file that is there.

        Raises:
            ServingSimError: A file is damaged, a layer unknown, or there is no file at all.
        """
        found = FolderRows()
        for name in COUNTED:
            if (self.path / name).exists():
                self._layers(name, found)
        if (self.path / "attention.csv").exists():
            found.rows["attention.csv"] = list(self._attention())
        if (self.path / "moe.csv").exists():
            found.rows["moe.csv"] = list(self._experts())
        if not found.rows:
            raise ServingSimError(
                "holds no table", path=str(self.path), known=f"{', '.join(COUNTED)}, attention.csv, moe.csv"
            )
        return found

    def _layers(self, name: str, found: FolderRows) -> None:
        count = COUNTED[name]
        table = read_table(self.path / name, [count], ["layer"])
        known = layers(self.shape, self.profile.dtype)
        rows, left_out = found.rows.setdefault(name, []), found.left_out.setdefault(name, {})
        for layer, counted, time_us in zip(
            table.texts["layer"], table.numbers[count], table.numbers[TIME], strict=True
        ):
            if layer in NOT_IMPORTED:
                why = f"{layer}: {NOT_IMPORTED[layer]}"
                left_out[why] = left_out.get(why, 0) + 1
            elif layer not in known:
                raise ServingSimError(
                    f"unknown layer {layer!r}",
                    path=str(table.path),
                    known=", ".join((*known, *NOT_IMPORTED)),
                    hint="a layer of another name has no kernel kind here: remove its lines",
                )
            elif counted == 0:
                left_out[NOTHING] = left_out.get(NOTHING, 0) + 1
            else:
                kernel = known[layer]
                args = {kernel.axis: int(counted) * kernel.each, **kernel.args}
                rows.append(self._row(kernel.kind, args, time_us, f"{name}, {layer}"))

    def _attention(self) -> Iterator[MeasuredRow]:
        table = read_table(self.path / "attention.csv", ATTENTION)
        columns = [table.numbers[column] for column in (*ATTENTION, TIME)]
        heads: dict[str, ArgValue] = {
            "num_heads": self.shape.num_heads,
            "num_kv_heads": self.shape.num_kv_heads,
            "head_dim": self.shape.head_dim,
            "dtype": self.profile.dtype,
            "kv_dtype": self.profile.dtype,
            "window_size": 0,
        }
        for q_len, prefix_len, num_decodes, kv_len, time_us in zip(*columns, strict=True):
            sizes = {
                "q_len": int(q_len),
                "prefix_len": int(prefix_len),
                "num_decodes": int(num_decodes),
                "kv_len": int(kv_len),
            }
            yield self._row("attention_mixed", {**sizes, **heads}, time_us, "attention.csv")

    def _experts(self) -> Iterator[MeasuredRow]:
        shape = self.shape
        if not (shape.num_experts and shape.topk):
            raise ServingSimError(
                "holds experts, the config none", path=str(self.path / "moe.csv"), hint="see --config"
            )
        table = read_table(self.path / "moe.csv", ["tokens", "activated_experts"])
        for ep, tokens, time_us in expert_rows(table, shape):
            args: dict[str, ArgValue] = {
                "num_tokens": tokens,
                "hidden_size": shape.hidden_size,
                "inter_size": shape.expert_size,
                "topk": shape.topk,
                "num_experts": shape.num_experts,
                "moe_tp_size": shape.tp,
                "moe_ep_size": ep,
                "distribution": "balanced",
                "dtype": self.profile.dtype,
            }
            yield self._row(
                "fused_moe", args, time_us, "moe.csv at the experts that even routing hits in expectation"
            )

    def _row(self, kind: str, args: Mapping[str, ArgValue], time_us: float, where: str) -> MeasuredRow:
        timing = Timing(time_us / 1e3, math.nan, math.nan, math.nan, SAMPLES)
        return MeasuredRow(kind, args, timing, self._origins(where))

    def _origins(self, where: str) -> Origins:
        profile = self.profile
        return Origins(
            origin="imported",
            device=self.device,
            backend=f"vllm-{profile.version}:layer",
            framework="vllm",
            framework_version=profile.version,
            libraries=dict(profile.libraries),
            source=f"{self.source}/{self.path.name}: {where}",
            measured_at=profile.profiled_at,
        )
