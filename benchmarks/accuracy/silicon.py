"""TPOT of published engine runs, from kernels measured with the same version of the engine.

Every row of `silicon_version_matched.csv` is told: predicted, or counted with the reason why it cannot be. Each group
(system, engine, version, model) is predicted from kernels alone; then each half of its splits of ranks with the host's
times that its other half shows. TensorRT-LLM launches the attention of prefills and decodes of one iteration apart, so
that a mixed iteration is the sum of both. The rows of its older tables name 16-bit operands float16; the models ran in
bf16, whose tensor cores are as fast.

Tried and left out: the host's times of another model on the same engine. Those of Qwen3-235B on TensorRT-LLM bring the
error of Llama-3.1-8B down by a tenth at best (one time a request), and up by a half with all three: what its kernels
are off by is as large as what the host adds. Of Llama's own gap, iterations with long prefills lack 10 to 12 % at TP 1
that no host can take (products run slower than in short measurements); 0.4 to 2.5 ms of the others are the host's.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy.contract import Claim
from benchmarks.accuracy.silicon_claims import AREA, COMMAND, Group, bare_claim, host_claim, told
from benchmarks.accuracy.silicon_host import host_of
from benchmarks.accuracy.silicon_kernels import rows_of, tables_of
from benchmarks.accuracy.silicon_models import config_of
from benchmarks.accuracy.silicon_rows import CASES, cases
from benchmarks.accuracy.silicon_runs import Simulator
from benchmarks.h100_rows import Absent
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.accuracy.silicon_host import Run
    from benchmarks.accuracy.silicon_kernels import Tables
    from benchmarks.accuracy.silicon_rows import Case, Served


TWIN = 0.15
"""Runs of one configuration repeat to a few percent."""


def claims() -> list[Claim]:
    """What is told and what is not; each group from kernels alone; then halves with each other's host times."""
    rows: dict[Served, list[Case]] = defaultdict(list)
    untold: Counter[str] = Counter()
    for case in cases():
        if case.untold:
            untold[case.untold] += 1
        else:
            rows[case.served].append(case)
    with ExitStack() as stack:
        groups: list[Group] = []
        others: list[Group] = []
        for served, asked in rows.items():
            try:
                config_of(served)
                first, *more = tables_of(served.system, served.backend, served.version)
                groups.append(_group(served, first, asked, stack))
                others += [_group(served, each, asked, stack) for each in more]
            except (Absent, ServingSimError) as why:
                untold[str(why)] += len(asked)
        if not groups:
            raise Absent("; ".join(untold))
        found = [_coverage(groups, untold), *map(bare_claim, groups), *map(bare_claim, others)]
        for group in groups:
            found += _folds(group)
    return found


def _group(served: Served, found: Tables, asked: Sequence[Case], stack: ExitStack) -> Group:
    """A group's runs from kernels alone."""
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    simulator = Simulator(stack.enter_context(rows_of(found)), scratch, asked)
    return Group(served, found, simulator, tuple(simulator.run(case) for case in asked))


def _folds(group: Group) -> list[Claim]:
    """Each half of the splits of ranks with the host's times of the other; none where there is one split."""
    splits = sorted({run.case.split for run in group.runs}, key=lambda split: (split.tp, split.ep))
    halves = (frozenset(splits[::2]), frozenset(splits[1::2]))
    found = []
    for known, asked in (halves, halves[::-1]) if len(splits) > 1 else ():
        fitted = [run for run in group.runs if run.case.split in known]
        host = host_of(fitted, f"{group.served.version} on {told(known)}")
        judged = [group.simulator.run(run.case, host) for run in group.runs if run.case.split in asked]
        found.append(host_claim(group, judged, host, fitted))
    return found


def _coverage(groups: Sequence[Group], untold: Counter[str]) -> Claim:
    runs: list[Run] = [run for group in groups for run in group.runs]
    distinct = {(run.case.key, run.case.tpot_ms) for run in runs}
    twins = sum(map(_twins, groups))
    near = sum(len(group.runs) for group in groups if group.tables.version != group.served.version)
    return Claim(
        id="silicon_rows",
        area=AREA,
        says="rows of published engine runs that can be told from kernels of the same version, and those that cannot",
        data=f"aiconfigurator, {CASES.name}",
        split="nothing is fitted",
        figures={
            "silicon_told_rows": len(runs),
            "silicon_told_distinct_runs": len(distinct),
            "silicon_told_from_a_near_version_rows": near,
            "silicon_told_rows_with_another_twin_rows": twins,
            "silicon_untold_rows": sum(untold.values()),
        },
        command=COMMAND,
        fitted_on=frozenset(),
        judged_on=frozenset({CASES.name}),
        note="; ".join(
            [
                f"{twins} rows have a twin with the same columns and a TPOT {TWIN:.0%} longer; the file is silent why",
                *(f"{count} rows untold: {why}" for why, count in untold.most_common()),
            ]
        ),
    )


def _twins(group: Group) -> int:
    """Rows whose columns say the same as another's, while their TPOT are too far apart for a repetition."""
    times_ms: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for run in group.runs:
        times_ms[run.case.key].append(run.case.tpot_ms)
    return sum(len(each) for each in times_ms.values() if max(each) > min(each) * (1 + TWIN))
