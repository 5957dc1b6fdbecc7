"""What each skill's task tells its worker: the work, the files, what helps, and what is left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WIRE_SCOPE = (
    "runners under profiling/backends and any new measuring backend",
    "the shared engine, caches and slot inputs under servingsim/timing",
    "ops, worklets and archs that would use the kernel",
)
OP_SCOPE = (
    "new kernels: those that the op uses are wired already",
    "worklets and archs that would use the op",
    "the parallel layout: an op sees the facts of one rank only",
)
FIDELITY_SCOPE = (
    "the user's store of rows: truth is measured in a scratch database",
    "new cache kinds and fitting mechanisms without the user's word",
    "the kernel's public fields",
)


@dataclass(frozen=True)
class SkillFacts:
    """Of one skill.

    Attributes:
        verb: Of the task's id.
        do: The work, in a few sentences; `{...}` are the task's own names.
        files: Path below the workspace to what it holds.
        fixed: Arguments that say what a task is about: a report of others is about another task.
        decided: Arguments that only the user changes, their defaults too: others are put to the user.
        agreed: The same, once they are given.
        commands: Shell commands that help.
        out_of_scope: What is not touched.
        criteria: Rule ids and sentences, in the order of the checkpoints.
    """

    verb: str
    do: str
    files: tuple[tuple[str, str], ...]
    fixed: tuple[str, ...]
    decided: tuple[str, ...]
    agreed: tuple[str, ...]
    commands: tuple[str, ...]
    out_of_scope: tuple[str, ...]
    criteria: tuple[tuple[str, str], ...]


WIRE = SkillFacts(
    verb="wire",
    do=(
        "Wire the measured kernel {kind} into the timing layer. Make `call` with mode scaffold for a draft, complete "
        "it and its tests, then make `call` as it stands, which checks. R.1, R.2 and R.3 are checkpoints in this "
        "order: the first that fails is corrected before the next. Hand in the report of the check. A shape other "
        "than the agreed one, a new cache kind or a change outside these files is a question for the user: hand in "
        "`blocked` with it."
    ),
    files=(
        ("servingsim/timing/kernels/{kind}.py", "Config, Input, sweep grid, cache, mask: `KERNEL`"),
        ("tests/{kind}/test_{kind}.py", "focused tests, each naming the production defect that it catches"),
    ),
    fixed=("kind", "mode", "handoff"),
    decided=(),
    agreed=("shape",),
    commands=(
        "python -m profiling list --kind {kind} --json",
        'servingsim kernel-query \'{{"op":"grid","kind":"{kind}","config":{{...}}}}\'',
        "python -m pytest tests/{kind} -q",
    ),
    out_of_scope=WIRE_SCOPE,
    criteria=(
        (
            "R.1",
            "The hand-off is whole: registry, facade, smoke through the public command, a source for every field.",
        ),
        ("R.2", "The shape emits exactly the args fields plus backend, over an existing cache kind."),
        ("R.2-ceiling", "At most 500 feasible coordinates of one Config, after the mask, before backends."),
        (
            "R.3",
            "The file does what was agreed: payload field for field, dtype tags, mask, tests, grid query.",
        ),
    ),
)
FIDELITY = SkillFacts(
    verb="validate",
    do=(
        "Show how faithfully the cache of {kind} reproduces measured times. Where the error is not acceptable and the "
        "share justifies it, localise it (interior, extrapolation, quantisation, re-axis, noise), apply one remedy and "
        "hand in the new report; a second failure is listed and the campaign moves on. A remedy that costs much more "
        "measuring, or changes the kernel's public fields, is a question for the user: hand in `blocked` with it."
    ),
    files=(
        (
            "servingsim/timing/kernels/{kind}.py",
            "only where a remedy changes the grid, the cache or the re-axis",
        ),
    ),
    fixed=("kind", "config"),
    decided=("bar", "within_rate", "truth", "share", "probes", "max_probes", "backends"),
    agreed=(),
    commands=(
        'servingsim kernel-query \'{{"op":"eval","kind":"{kind}",...}}\'',
        "the CSV that the report names",
    ),
    out_of_scope=FIDELITY_SCOPE,
    criteria=(
        (
            "R.4-truth",
            "Cache values are the simulator's own eval, truths are perf_api's for the same Config.",
        ),
        ("R.4-probes", "Probes lie inside cells, at bucket boundaries and on both sides of every axis."),
        ("R.4-within", "The required share of probes inside the fit keeps the bar."),
        ("R.4-regions", "No region inside the fit is off as a whole."),
        ("R.4-noise", "The noise floor lies below the bar."),
        ("R.4-backend", "The picked backend is the fastest, or as good as."),
        ("R.4-user-db", "No truth entered the user's database."),
        ("R.4-remedy", "An unacceptable error has one concrete remedy, decided where it costs."),
    ),
)
OP = SkillFacts(
    verb="compose",
    do=(
        "Compose the operation {name}. Where it is compound make `call` with mode scaffold, complete the pure helpers "
        "and their tests, then make `call` as it stands, which checks, and hand in that report. An atomic op writes "
        "no file: its report is enough."
    ),
    files=(
        ("servingsim/ops/{family}/{name}.py", "Config, Input, build, compile, eval; pure helpers"),
        ("tests/{name}/test_{name}.py", "unit tests of the pure helpers"),
    ),
    fixed=("family", "name", "mode", "sub_kernels"),
    decided=("form",),
    agreed=(),
    commands=("python -m pytest tests/{name} -q",),
    out_of_scope=OP_SCOPE,
    criteria=(
        ("INV-1", "The leaves are fixed at compile, whatever the number of requests."),
        ("INV-2", "Slots are filled in the order in which compile made them."),
        ("INV-2.5-1", "An atomic op has no file."),
        ("INV-3.5-3", "Whoever uses the op never sees its kernels."),
        ("INV-4.5", "Nothing of the op knows the parallel layout."),
        ("INV-6.1", "A collective is an op of its own."),
    ),
)
_FACTS = {"wire_kernel": WIRE, "validate_cache": FIDELITY, "compose_op": OP}


def criteria_of(skill: str) -> list[tuple[str, str]]:
    """Id and sentence of what the server checks, in the order of the checkpoints."""
    if skill != "wire_kernel":
        return list(facts_of(skill).criteria)
    from skills.wire_kernel.rules import STAGES  # noqa: PLC0415 - only a brief of this skill lists them

    return [rule for stage in STAGES.values() for rule in stage.items()]


def facts_of(skill: str) -> SkillFacts:
    """Of a skill that campaigns use."""
    return _FACTS[skill]


def names_of(arguments: dict[str, Any]) -> dict[str, str]:
    """The names that texts and task ids use: of the kernel, or of the op."""
    return {
        "kind": str(arguments.get("kind", "")),
        "family": str(arguments.get("family", "")),
        "name": str(arguments.get("name", "")),
    }
