"""An agent's verdicts, held to the rules of the table: applied, or refused with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from servingsim.errors import ServingSimError
from servingsim.validation import did_you_mean
from skills.split_model.draft import HEAVY, Draft
from skills.split_model.schema import MapsTo

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from skills.split_model.capture import CapturedKernel
    from skills.split_model.schema import Override

EPILOGUES = ("residual_add", "_bias")
"""Standard epilogues: an agent's evidence is enough for their host."""
FUSING = {
    "rope": r"rope|rotary",
    "kv_append": r"cache|append",
    "norm": r"norm",
    "activation": r"silu|swiglu|act_",
    "embedding": r"embed",
    "pointwise": r"quant|mul|add|scale",
    "collective": r"reduce|gather",
    "conv": r"conv",
}
"""What the name of a kernel that does such an op beside another must say: by the op's family."""
HOSTS = {"norm": r"norm", "attention": r"attn|attention|flash|fmha|mha", "gemm": r"gemm|qkv|linear"}
KIND = re.compile(r"[a-z][a-z0-9_]{2,63}")
INDEXED = re.compile(r"(layer|rank|chunk|slot|capacity|block)s?[_.]?\d+|_\d{2,}$")


@dataclass(frozen=True)
class Judged:
    """Rows after the overrides.

    Attributes:
        drafts: The rows.
        evidence: What was said of an op, for all overrides that hold.
        refused: Why others were not applied.
    """

    drafts: tuple[Draft, ...]
    evidence: dict[str, str]
    refused: tuple[str, ...]


def judge(
    drafts: Sequence[Draft],
    overrides: Sequence[Override],
    known: Collection[str],
    kernels: Sequence[CapturedKernel],
) -> Judged:
    """Apply overrides one after the other.

    Raises:
        ServingSimError: E_INPUT, an override of an op that no row has.
    """
    rows, evidence, refused = list(drafts), dict[str, str](), []
    for override in overrides:
        ops = {draft.op for draft in rows}
        if override.op not in ops:
            raise ServingSimError(
                f"no row {override.op!r}",
                known=", ".join(sorted(ops)),
                hint=did_you_mean(override.op, ops),
                path="overrides",
            )
        fault = next(filter(None, (_fault(row, rows, override, known, kernels) for row in rows)), "")
        if fault:
            refused.append(f"{override.op} as {override.verdict}: {fault}")
            continue
        evidence[override.op] = override.evidence
        rows = [_applied(row, override) if row.op == override.op else row for row in rows]
    return Judged(tuple(rows), evidence, tuple(refused))


def _fault(
    row: Draft,
    rows: Sequence[Draft],
    override: Override,
    known: Collection[str],
    kernels: Sequence[CapturedKernel],
) -> str:
    """Why an override cannot hold for a row; empty where it can, or means another row."""
    if row.op != override.op or _confirms(row, override):
        return ""
    if override.verdict == "fold":
        return _fold_fault(row, rows, override, kernels)
    if override.verdict == "elementwise":
        return "" if _priced_alone(row) else f"a {row.family} has a kernel of its own to be measured by"
    if override.verdict == "reuse":
        return _reuse_fault(row, override)
    return _new_fault(override.maps_to, known)


def _confirms(row: Draft, override: Override) -> bool:
    target = row.maps_to.host or row.maps_to.kind
    return row.verdict == override.verdict and override.maps_to in {"", target}


def _fold_fault(
    row: Draft, rows: Sequence[Draft], override: Override, kernels: Sequence[CapturedKernel]
) -> str:
    if row.family in HEAVY:
        return f"a {row.family} is no epilogue of a neighbour"
    host = next((each for each in rows if each.op == override.maps_to), None)
    if host is None or host.op == row.op:
        return f"no other row {override.maps_to!r} to be its host"
    if host.verdict == "fold" or host.family not in HOSTS:
        return f"{host.op} is no heavy kernel that could fuse it"
    if host.family == row.family:
        return f"{row.op} and {host.op} are issued independently: two rows"
    if not row.op.endswith(EPILOGUES) and not _fused(row, host, override, kernels):
        return (
            f"no captured kernel in the evidence does both {row.family} and {host.family}; without one it stays a "
            "launch of its own (the no-skip floor)"
        )
    return ""


def _fused(row: Draft, host: Draft, override: Override, kernels: Sequence[CapturedKernel]) -> bool:
    """Whether the evidence names a captured kernel whose own name says that it does both."""
    return any(
        kernel.name[:60] in override.evidence
        and re.search(FUSING[row.family], kernel.name, re.IGNORECASE)
        and re.search(HOSTS[host.family], kernel.name, re.IGNORECASE)
        for kernel in kernels
    )


def _reuse_fault(row: Draft, override: Override) -> str:
    kind = row.maps_to.kind
    if row.family == "attention" and override.maps_to != kind:
        return f"attention is one launch: {override.maps_to!r} would split the fusion"
    if override.maps_to != kind or row.verdict == "new_kernel":
        return f"{override.maps_to!r} does not keep the op's meaning and args; reuse no kind by reinterpreting it"
    return ""


def _new_fault(kind: str, known: Collection[str]) -> str:
    if not KIND.fullmatch(kind):
        return f"{kind!r} is no kind's name"
    if kind in known:
        return f"{kind} exists: reuse it"
    return f"{kind} names a layer, rank, chunk or size" if INDEXED.search(kind) else ""


def _priced_alone(row: Draft) -> MapsTo | None:
    """What prices a row as a launch of its own bytes; None where another kind is made for it."""
    return row.maps_to if row.verdict == "elementwise" else row.placeholder


def _applied(row: Draft, override: Override) -> Draft:
    if _confirms(row, override):
        return row
    maps_to, why = _priced_alone(row) or row.maps_to, ""
    if override.verdict == "fold":
        maps_to = MapsTo(host=override.maps_to)
    elif override.verdict == "new_kernel":
        until_then = maps_to.until_then or maps_to.kind
        maps_to = maps_to.model_copy(update={"kind": override.maps_to, "until_then": until_then})
        why = override.evidence
    kept = row.placeholder or (row.maps_to if row.verdict == "elementwise" else None)
    return replace(row, verdict=override.verdict, maps_to=maps_to, why=why, placeholder=kept)
