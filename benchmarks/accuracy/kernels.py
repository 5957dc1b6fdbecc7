"""Kernel times on held-out rows of measured GPUs: H100, H200, A100, B200 and L40S, vLLM, SGLang and TensorRT-LLM.

Every kind is judged by the rules of `servingsim fidelity`, and the H100 table of vLLM by the splits that others publish
figures for (`benchmarks.gemm_holdout`). No constant of a cache was chosen on a table that is judged here: those of
attention were chosen on Blackwell devices that are not (TUNED_ON); the curves between rows of products were learnt on
other devices than the one that they are used on, and name them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks import gemm_holdout
from benchmarks.accuracy.contract import Claim, Scope, ValidatedRecord
from benchmarks.h100_rows import BACKEND, DEVICE, RowSource, gemm_rows
from server.fidelity.sources import wheel_tables
from servingsim.errors import ServingSimError
from servingsim.timing.fidelity.columns import ColumnSource
from servingsim.timing.fidelity.judge import Wanted, answers_by_split, split_figures
from servingsim.timing.kernels.single_gemm import SingleGemmConfig
from servingsim.timing.registry import kernels
from servingsim.timing.row_curves.shelf import row_curve_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.gemm_holdout import Split
    from benchmarks.h100_rows import Rows
    from benchmarks.holdout import Errors
    from servingsim.timing.fidelity.answers import Answers
    from servingsim.timing.fidelity.figures import ErrorFigures
    from servingsim.timing.fidelity.report import SplitFidelity
    from servingsim.timing.fidelity.run import MeasuredTable
    from servingsim.timing.source import DeviceSpec, FloatArray

AREA = "Kernel times on held-out measurements"
SYSTEMS = ("h100_sxm", "h200_sxm", "a100_sxm", "b200_sxm", "l40s")
STACKS = ("vllm", "sglang", "trtllm")
KINDS = (
    "single_gemm",
    "attention_decode",
    "attention_prefill",
    "mla_decode",
    "mla_prefill",
    "fused_moe",
    "gated_delta_prefill",
    "all_reduce",
)
WIDTHS = (2.0, 1.0)
"""Bytes of an operand that curves between rows of products were learnt for."""
CONFIGS = 24
"""Of each backend's table, spread evenly."""
TUNED_ON = frozenset(
    f"{kind} of {system}/{stack}"
    for kind in ("attention_decode", "attention_prefill", "fused_moe", "gated_delta_prefill")
    for system, stack in (
        ("gb200", "vllm"),
        ("gb300", "sglang"),
        ("b300_sxm", "trtllm"),
        ("rtx_pro_6000_server", "vllm"),
    )
)
"""Tables on which the rules and constants of `work_nd`, `smooth_lines` and `relatives` were chosen."""
CALIBRATED_ON = ("a100_sxm", "b200_sxm", "l40s")
"""Systems on which the factors of the 90 % interval were chosen; how often it holds is told of the others."""
M_RANGES = (64, 512, 4096)
"""Ends of the ranges of m that the error of products is told for."""
GEMM_TRIED = (
    "three plain rules (whole tiles of 16 rows, an odd row pulled towards its neighbours, work affine in m); a curve "
    "of tiles, waves and odd rows that was learnt on another device (kept); the rows of other stacks beside "
    "(gemm_h100_beside). What is left is the library's pick of a kernel at each size: gemm_h100_all_others_known knows "
    "every other size of a shape, and a smooth line through them is no better"
)
ANCHOR = "AIConfigurator's own tables read log-log linearly, the same points kept and asked: the figures named loglog"


class _Judged(NamedTuple):
    """One kind on one system and stack, all its kernels together."""

    system: str
    stack: str
    device: DeviceSpec
    version: str
    rows: int
    splits: dict[str, SplitFidelity]


def claims() -> list[Claim]:
    """Every claim."""
    judged = _all_judged()
    return [*_gemm(), *(claim for kind, found in judged.items() for claim in _claims(kind, found))]


def _gemm() -> Iterator[Claim]:
    rows = gemm_rows()
    powers = gemm_holdout.held_out_m(rows, gemm_holdout.POWERS)
    grid = gemm_holdout.held_out_m(rows, _own_grid())
    beside = gemm_holdout.rows_beside()
    shapes = gemm_holdout.held_out_shapes(rows)
    apart = gemm_holdout.held_out_every_other_shape(rows)
    yield _product(
        "gemm_h100_powers",
        "between the 16 powers of two of m, products of a table of H100 are read to this error",
        "16 powers of two of m of each (n, k) kept, the other values of m asked",
        powers,
        {"mape_percent": 4.0},
        "AIConfigurator read log-log linearly: MAPE 5.0 %, p95 16.2 %, max 49 %; KernelSight-LM 3.8 % a kernel",
    )
    yield _product(
        "gemm_h100_own_grid",
        "measured on our own grid, products of any m are read to this error",
        "the values of m of the kind's own sweep grid kept, the others asked",
        grid,
        {"mape_percent": 2.5, "p95_percent": 8.0},
        "log-log with 38 of the 74 values of m: MAPE 5.5 %, p95 17 %",
    )
    yield _with_all_stacks(beside)
    yield _floor()
    yield Claim(
        id="gemm_h100_shapes",
        area=AREA,
        says="products of a shape (n, k) that was never measured are read from measured shapes around it",
        data=_gemm_data(),
        split="each (n, k) in turn without its rows; and every other n and every other k missing at once",
        figures={
            **shapes.figures("gemm_h100_shape_one"),
            **apart.figures("gemm_h100_shape_every_other"),
        },
        targets={"gemm_h100_shape_one_mape_percent": 6.0, "gemm_h100_shape_every_other_mape_percent": 6.0},
        command="make accuracy (benchmarks/accuracy/kernels.py); servingsim fidelity --system h100_sxm --stack vllm "
        "--kind single_gemm --split shapes",
        fitted_on=_learnt_on(_h100(), "single_gemm"),
        judged_on=frozenset({_GEMM_ROWS}),
        records=(_gemm_record("gemm_h100_shapes", "shape never measured", shapes),),
    )


def _with_all_stacks(beside: Mapping[str, Rows]) -> Claim:
    """The same splits for a user whose store holds the other stacks' rows of the device too: another question."""
    name, rows = "gemm_h100_beside", gemm_rows()
    powers = gemm_holdout.held_out_m(rows, gemm_holdout.POWERS, beside)
    grid = gemm_holdout.held_out_m(rows, _own_grid(), beside)
    return Claim(
        id=name,
        area=AREA,
        says="where the store also holds the rows of other stacks of the same GPU, products of any m are read to this "
        "error; not the base split, whose figures stand above",
        data=f"{_gemm_data()}; beside them all rows of {', '.join(beside) or 'no other backend'} on the H100",
        split="of vLLM's rows 16 powers of two, or our own grid, of m kept and the others asked; of the other stacks' "
        "rows all kept",
        figures={
            **powers.ours.figures(f"{name}_powers"),
            **grid.ours.figures(f"{name}_own_grid"),
            f"{name}_below_limit_points": powers.below_limit + grid.below_limit,
        },
        targets={f"{name}_powers_mape_percent": 4.0, f"{name}_below_limit_points": 0},
        anchor="AIConfigurator reads each stack's table by itself: MAPE 5.0 % between powers of two",
        command="make accuracy (benchmarks/accuracy/kernels.py)",
        fitted_on=_learnt_on(_h100(), "single_gemm")
        | {f"single_gemm of h100_sxm/{each.partition('-')[0]}" for each in beside},
        judged_on=frozenset({_GEMM_ROWS}),
        note="libraries of different stacks are often the same, and pick oddly at the same sizes",
        records=(_gemm_record(name, "time, other stacks' rows beside", powers.ours),),
    )


def _floor() -> Claim:
    """What no smooth reading can know: which kernel the library picked at a size."""
    name, rows = "gemm_h100_all_others_known", gemm_rows()
    return Claim(
        id=name,
        area=AREA,
        says="a smooth reading of one m from all other 73 of its shape is still off by this much: the library's pick "
        "of a kernel for each m, which rows at other m do not show",
        data=_gemm_data(),
        split="log-log lines through the two sizes on each side, averaged; asked where the splits above ask",
        figures={
            **gemm_holdout.from_all_others(rows, gemm_holdout.POWERS).figures(f"{name}_powers"),
            **gemm_holdout.from_all_others(rows, _own_grid()).figures(f"{name}_own_grid"),
        },
        command="make accuracy (benchmarks/accuracy/kernels.py)",
        fitted_on=frozenset(),
        judged_on=frozenset({_GEMM_ROWS}),
        note="no prediction of ours, but what is left of the error of one: a smaller figure above was read from tiles "
        "and waves, not from neighbouring sizes alone",
    )


_GEMM_ROWS = "single_gemm of h100_sxm/vllm"


def _learnt_on(device: DeviceSpec, kind: str) -> frozenset[str]:
    """Tables that anything which reads this kind on the device was chosen or learnt on."""
    if kind != "single_gemm":
        return TUNED_ON
    curves = (row_curve_for(device, width) for width in WIDTHS)
    return frozenset(
        f"single_gemm of {_place(table)}" for curve in curves if curve for table in curve.fitted_on
    )


def _place(table: str) -> str:
    """SYSTEM/STACK of a table that a curve names."""
    return "/".join(table.split("/")[:2])


def _own_grid() -> FloatArray:
    """Values of m that our profiler would measure, as far as the rows reach."""
    config = SingleGemmConfig(gpu_name=DEVICE, n=4096, k=4096, dtype="bf16", max_m=32768)
    return np.array([m for (m,) in kernels()["single_gemm"].feasible_coordinates(config)], dtype=np.float64)


def _h100() -> DeviceSpec:
    return RowSource("single_gemm", gemm_rows()).device(DEVICE)


def _gemm_data() -> str:
    return f"{len(gemm_rows()):,} rows of aiconfigurator-core: H100, vLLM 0.24.0, bf16, 483 (n, k) x 74 m"


def _product(name: str, says: str, split: str, found: Split, targets: dict[str, float], anchor: str) -> Claim:
    return Claim(
        id=name,
        area=AREA,
        says=says,
        data=_gemm_data(),
        split=split,
        figures={
            **found.ours.figures(name),
            **found.baseline.figures(f"{name}_loglog"),
            f"{name}_below_limit_points": found.below_limit,
        },
        targets={
            **{f"{name}_{figure}": most for figure, most in targets.items()},
            f"{name}_below_limit_points": 0,
        },
        anchor=anchor,
        command="make accuracy (benchmarks/accuracy/kernels.py); servingsim fidelity --system h100_sxm --stack vllm "
        "--kind single_gemm",
        fitted_on=_learnt_on(_h100(), "single_gemm"),
        judged_on=frozenset({_GEMM_ROWS}),
        note="; ".join(
            f"{region}: MAPE {mape:.1f} %, {share:.0%} of the whole error"
            for region, mape, share in found.by_m(M_RANGES)
        ),
        tried=GEMM_TRIED,
        records=(_gemm_record(name, "time", found.ours),),
    )


def _gemm_record(claim: str, metric: str, errors: Errors) -> ValidatedRecord:
    figures = errors.figures("x")
    stack, version = BACKEND.split("-", 1)
    return ValidatedRecord(
        id=claim,
        scope=Scope(
            devices=(DEVICE,), stacks=(stack,), versions=(version,), kinds=("single_gemm",), dtypes=("bf16",)
        ),
        metric=metric,
        mape_percent=figures["x_mape_percent"],
        p95_percent=figures["x_p95_percent"],
        points=len(errors.percent),
        claim=claim,
    )


def _all_judged() -> dict[str, list[_Judged]]:
    found: dict[str, list[_Judged]] = {kind: [] for kind in KINDS}
    for system in SYSTEMS:
        for stack in STACKS:
            for kind in KINDS:
                try:
                    tables = wheel_tables(system, stack, "", [kind])
                except ServingSimError:
                    continue  # that stack was not measured there, or not this kind
                if any(len(table.columns) for table in tables):
                    found[kind].append(_judge(kind, system, stack, tables))
    return found


def _judge(kind: str, system: str, stack: str, tables: Sequence[MeasuredTable]) -> _Judged:
    answers: dict[str, list[Answers]] = defaultdict(list)
    wanted = Wanted(("powers", "own_grid", "every_other", "shapes"), CONFIGS)
    for table in tables:
        source = ColumnSource(table.columns, kernels()[kind], table.device)
        for name, own in answers_by_split(source, wanted).items():
            answers[name] += own
    splits = {name: split_figures(kernels()[kind], name, own) for name, own in answers.items() if own}
    return _Judged(
        system,
        stack,
        tables[0].device,
        tables[0].columns.provenance.version,
        sum(len(table.columns) for table in tables),
        {name: split for name, split in splits.items() if split.ours},
    )


def _claims(kind: str, found: Sequence[_Judged]) -> Iterator[Claim]:
    """One for a kind; one for each system where what reads it was learnt on the other systems."""
    if kind != "single_gemm":
        groups = {f"kernels_{kind}": list(found)}
    else:
        groups = {
            f"kernels_{kind}_{system}": [each for each in found if each.system == system]
            for system in SYSTEMS
        }
    for name, members in groups.items():
        if members:
            yield _claim(name, kind, members)


def _claim(name: str, kind: str, found: Sequence[_Judged]) -> Claim:
    figures: dict[str, float] = {}
    for each in found:
        for split in each.splits.values():
            figures |= _figures(kind, each, split)
    systems = {each.system for each in found}
    what = f"{kind} of {found[0].system}" if len(systems) == 1 else kind
    return Claim(
        id=name,
        area=AREA,
        says=f"{what}: between measured shapes, and for heads or shapes never measured where the kind has such, "
        "times are read to these errors",
        data=f"{sum(each.rows for each in found):,} rows of aiconfigurator-core: "
        + ", ".join(f"{each.system}/{each.stack}" for each in found),
        split=f"up to {CONFIGS} Configs of each table: every other value of each axis, of one axis, the powers of two, "
        "or every other Config's rows alone kept; what was left out asked",
        figures=figures,
        anchor=ANCHOR,
        command=f"servingsim fidelity --system {found[0].system} --stack {found[0].stack} --kind {kind} "
        f"--most-configs {CONFIGS}",
        fitted_on=_learnt_on(found[0].device, kind),
        judged_on=frozenset(f"{kind} of {each.system}/{each.stack}" for each in found),
        note=_largest(found),
        records=tuple(
            _record(name, kind, each, whole.ours)
            for each in found
            if (whole := each.splits.get("every_other")) is not None and whole.ours is not None
        ),
    )


def _figures(kind: str, each: _Judged, split: SplitFidelity) -> dict[str, float]:
    name = f"{kind}_{each.system}_{each.stack}_{split.name.replace(':', '_')}"
    ours, usual, inside = split.ours, split.baseline, split.calibration
    figures: dict[str, float] = {}
    if ours is not None:
        figures |= {
            f"{name}_mape_percent": ours.mape_percent,
            f"{name}_p95_percent": ours.p95_percent,
            f"{name}_points": ours.points,
        }
    if usual is not None:
        figures[f"{name}_loglog_mape_percent"] = usual.mape_percent
        figures[f"{name}_loglog_p95_percent"] = usual.p95_percent
    if inside is not None and each.system not in CALIBRATED_ON:
        figures[f"{name}_inside_interval_percent"] = inside.inside_percent
    return figures


def _largest(found: Sequence[_Judged]) -> str:
    """Where the error lies: the worst system, and its worst region."""
    whole = [(each, each.splits["every_other"]) for each in found if "every_other" in each.splits]
    whole = [(each, split) for each, split in whole if split.ours is not None and split.regions]
    if not whole:
        return ""
    each, split = max(whole, key=lambda pair: pair[1].ours.mape_percent if pair[1].ours else 0.0)
    region = max(split.regions, key=lambda part: part.ours.mape_percent)
    mape = split.ours.mape_percent if split.ours else 0.0
    return (
        f"worst with every other value kept: {each.system}/{each.stack} {mape:.1f} %, most of it at {region.name} "
        f"({region.ours.mape_percent:.1f} %)"
    )


def _record(claim: str, kind: str, each: _Judged, ours: ErrorFigures) -> ValidatedRecord:
    return ValidatedRecord(
        id=f"{kind}_{each.system}_{each.stack}",
        scope=Scope(
            devices=(each.device.name,), stacks=(each.stack,), versions=(each.version,), kinds=(kind,)
        ),
        metric="time",
        mape_percent=ours.mape_percent,
        p95_percent=ours.p95_percent,
        points=ours.points,
        claim=claim,
    )
