"""Claims about groups of published engine runs: figures of TPOT, where it is worst, which ops the time is."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.accuracy.contract import Claim, Scope, ValidatedRecord, keys_of
from benchmarks.accuracy.silicon_models import config_of
from benchmarks.accuracy.silicon_rows import CASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.accuracy.silicon_host import Run
    from benchmarks.accuracy.silicon_kernels import Tables
    from benchmarks.accuracy.silicon_rows import Served, Split
    from benchmarks.accuracy.silicon_runs import Simulator
    from servingsim.sim.serving.deployment import Host

AREA = "TPOT of engines from measured kernels"
MOST = {"median": 8.0, "mape": 12.0}
ANCHOR = "AIConfigurator on its own silicon rows: TPOT MAPE 18.9 % (a harder model)"
COMMAND = "python -m benchmarks.accuracy --area silicon"
TRIED_BARE = (
    "kernels of the nearest version (the claim named near); the host's times of another model on the same engine (a "
    "tenth better at best). Of what is missing, iterations with long prefills lack a tenth at TP 1 that no host can "
    "take: products run slower than in short measurements. The rest is the host's: with times that runs of other TP "
    "sizes show (the claims named by TP sizes) the targets are met"
)
NAMED = {"h100_trtllm_1_0_0rc3_llama_3_1_8b_instruct": "h100_trtllm"}
"""Groups whose figures have shorter names."""


@dataclass(frozen=True)
class Group:
    """Runs of one model on one engine and system, predicted from kernels alone."""

    served: Served
    tables: Tables
    simulator: Simulator
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """Of its figures; with the version of its kernels where that is another one than the engine's."""
        version = re.sub(r"[^a-z0-9]+", "_", self.tables.version.lower())
        near = "" if self.tables.version == self.served.version else f"_near_{version}"
        return f"silicon_{NAMED.get(self.served.name, self.served.name)}{near}"

    @property
    def kernels(self) -> str:
        """The row set of its kernel tables."""
        return f"kernels {self.tables.system} {self.tables.backend} {self.tables.version}"


def bare_claim(group: Group) -> Claim:
    """From kernels alone."""
    name = f"{group.name}_kernels_only"
    prefix = f"{name}_tpot"
    guessed = float(np.mean([run.guessed for run in group.runs])) * 100
    return Claim(
        id=name,
        says=f"TPOT of {group.served.told}, from kernels{_whose(group)} alone: nothing of the host is known",
        split="kernel tables known; no engine run was used for anything",
        figures=_figures(prefix, group.runs) | {f"{prefix}_time_without_rows_percent": guessed},
        targets=_targets(group, prefix),
        fitted_on=frozenset({group.kernels}),
        judged_on=keys_of_runs(group.served, group.runs),
        note=_told(group.runs),
        tried=TRIED_BARE,
        area=AREA,
        data=_data(group, group.runs),
        anchor=ANCHOR,
        command=COMMAND,
    )


def host_claim(group: Group, runs: Sequence[Run], host: Host, fitted: Sequence[Run]) -> Claim:
    """With the host's times that other runs of the group show.

    Args:
        group: Whose runs are judged.
        runs: Predicted with the times.
        host: The times.
        fitted: The runs that they were found on.
    """
    asked, known = ({run.case.split for run in each} for each in (runs, fitted))
    name = f"{group.name}_{_ids(asked)}"
    prefix = f"{name}_tpot"
    figures = _figures(prefix, runs)
    return Claim(
        id=name,
        says=f"TPOT of {group.served.told} at {told(asked)}, with the host's times of runs at {told(known)}",
        split=f"kernel tables and the {len(fitted)} runs at {told(known)} known (three host times: "
        f"{host.graph_ms:.3f} ms a replayed iteration, {host.eager_ms:.3f} ms another one, "
        f"{host.request_ms:.4f} ms each request in it); the {len(runs)} other runs asked",
        figures=figures,
        targets=_targets(group, prefix),
        fitted_on=keys_of_runs(group.served, fitted) | {group.kernels},
        judged_on=keys_of_runs(group.served, runs),
        note=_told(runs),
        records=(
            ValidatedRecord(
                id=name,
                scope=Scope(
                    devices=(group.simulator.rows.device,),
                    stacks=(group.served.backend,),
                    versions=(group.tables.version,),
                    kinds=("serving",),
                    models=(str(config_of(group.served)["model_type"]),),
                ),
                metric="TPOT",
                mape_percent=figures[f"{prefix}_mape_percent"],
                p95_percent=figures[f"{prefix}_p95_percent"],
                points=len(runs),
                claim=name,
            ),
        ),
        area=AREA,
        data=_data(group, runs),
        anchor=ANCHOR,
        command=COMMAND,
    )


def keys_of_runs(served: Served, runs: Iterable[Run]) -> frozenset[str]:
    """Keys of single runs, as a claim holds them."""
    table = f"silicon {served.system} {served.backend} {served.version} {served.model.rpartition('/')[2]}"
    return keys_of(f"{table} {served.moe}".strip(), (run.case.key for run in runs))


def told(splits: Iterable[Split]) -> str:
    """Splits of ranks for people."""
    order = sorted(splits, key=lambda split: (split.tp, split.ep))
    return "TP " + " and ".join(
        f"{split.tp}" + (f" EP {split.ep}" if split.ep > 1 else "") for split in order
    )


def _ids(splits: Iterable[Split]) -> str:
    order = sorted(splits, key=lambda split: (split.tp, split.ep))
    return "_".join(["tp", *(f"{split.tp}" + (f"ep{split.ep}" if split.ep > 1 else "") for split in order)])


def _targets(group: Group, prefix: str) -> dict[str, float]:
    """Held to: the group that has a name of its own, with kernels of its version. Others are told."""
    held = group.served.name in NAMED and group.tables.version == group.served.version
    return {f"{prefix}_{figure}_percent": most for figure, most in MOST.items()} if held else {}


def _whose(group: Group) -> str:
    near = group.tables.version != group.served.version
    return f" of {group.tables.version}" if near else ""


def _data(group: Group, runs: Sequence[Run]) -> str:
    served = group.served
    near = group.tables.version != served.version
    whose = f"of {group.tables.version}, the nearest at hand" if near else "of the same version"
    return (
        f"aiconfigurator, {CASES.name}: {len(runs)} runs of {served.system}, {served.backend} {served.version}, "
        f"{served.model}; kernels {whose}: {group.tables.origin}"
    )


def _figures(prefix: str, runs: Sequence[Run]) -> dict[str, float]:
    signed = np.array([run.error_percent for run in runs])
    median, p95 = np.percentile(np.abs(signed), [50, 95])
    return {
        f"{prefix}_median_percent": float(median),
        f"{prefix}_mape_percent": float(np.abs(signed).mean()),
        f"{prefix}_p95_percent": float(p95),
        f"{prefix}_max_percent": float(np.abs(signed).max()),
        f"{prefix}_bias_percent": float(signed.mean()),
        f"{prefix}_runs": len(runs),
    }


def _told(runs: Sequence[Run]) -> str:
    """Where the error is largest, which ops the time is, and what no row answers."""
    regions: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in runs:
        regions[run.case.tp, run.case.prompt_tokens].append(run)
    means = {region: float(np.mean([run.error_percent for run in each])) for region, each in regions.items()}
    (tp, prompt), worst = max(means.items(), key=lambda item: abs(item[1]))
    shares: dict[str, float] = defaultdict(float)
    for run in regions[tp, prompt]:
        for op, share in run.shares.items():
            shares[op] += share / len(regions[tp, prompt])
    largest = sorted(shares.items(), key=lambda item: -item[1])[:3]
    prefill = float(np.mean([run.prefill for run in regions[tp, prompt]]))
    guessed = float(np.mean([run.guessed for run in regions[tp, prompt]]))
    return (
        f"largest error at TP {tp}, prompts of {prompt} tokens: {worst:+.1f} % in the mean; the kernels' time there is "
        + ", ".join(f"{op} {share:.0%}" for op, share in largest)
        + f", {guessed:.0%} of it without rows, {prefill:.0%} of a token's time in iterations with prefills. Not known "
        "of these runs: warm-up, number of requests, arguments of the engine beside those of published recipes"
    )
