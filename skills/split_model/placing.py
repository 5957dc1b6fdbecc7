"""Captured kernels to rows: by what their names suggest, or by an agent's evidence that names them.

A name is a suggestion, never a proof. Every kernel and every nanosecond goes to exactly one place: a row, named
plumbing, or the unplaced ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skills.split_model.schema import Placed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skills.split_model.capture import CapturedKernel
    from skills.split_model.draft import Draft

MATERIAL_SHARE = 0.005
NAMED_CHARACTERS = 60
"""Of a kernel's name that evidence has to repeat: demangled names run to thousands."""

CATEGORIES: tuple[tuple[str, str], ...] = (
    ("collective", r"nccl|all_?reduce|all_?gather|cross_device"),
    ("sampling", r"argmax|top_?k|top_?p|multinomial|sampl|sort|log_?softmax|distribution"),
    ("kv_append", r"reshape_and_cache|append_paged|kv_?cache|cache_?kernel"),
    ("cat", r"catarray"),
    ("rope", r"rotary|rope"),
    ("norm", r"rms_?norm|layer_?norm|add_?norm|rsqrt"),
    ("attention", r"flash|fmha|attention|attn|mha|prefillwith|decodewith|batchprefill|batchdecode"),
    ("activation", r"silu|swiglu|act_and_mul|gelu"),
    ("gemm", r"gemm|gemv|nvjet|cutlass|cublas|xmma|splitk|matmul|wmma|mma_"),
    ("embedding", r"embedding|indexselect|vectorized_gather|index_select"),
    ("pointwise", r"triton_(poi|red|per)"),
    ("plumbing", r"fill|memset|memcpy|copy|arange|iota|prepare|advance_step|scan|index|compute_slot"),
    ("pointwise", r"elementwise|pointwise|reduce_kernel"),
)
"""First that fits. Attention and norms go before `gemm`: their kernels are built with the same libraries. Generated
kernels go before `plumbing`: their names tell of every operation inside, copies among them."""
COPIES = "alloc, fill, copy or launch preparation"
PLUMBING = {"sampling": "sampling", "plumbing": COPIES, "cat": COPIES}
EAGER = ("pointwise", "norm", "rope", "activation")
"""Families whose eager launches are generic elementwise and reduction kernels."""


@dataclass(frozen=True)
class Placement:
    """Where a capture's kernels went.

    Attributes:
        rows: Kernels of each draft by its index, with the nanoseconds that fall to it.
        plumbing: Named, not priced.
        unplaced: Neither.
        total_ns: Of the capture.
    """

    rows: dict[int, list[tuple[CapturedKernel, int]]]
    plumbing: list[Placed]
    unplaced: list[Placed]
    total_ns: int

    def ns(self, index: int) -> int:
        """Time of a row."""
        return sum(ns for _, ns in self.rows.get(index, []))

    @property
    def placed_ns(self) -> int:
        """Everything that was put somewhere: the capture's total, or something was lost."""
        rest = sum(each.ns for each in (*self.plumbing, *self.unplaced))
        return rest + sum(self.ns(index) for index in self.rows)

    @property
    def material(self) -> list[Placed]:
        """Unplaced kernels that are too large to leave so."""
        return [each for each in self.unplaced if each.ns >= MATERIAL_SHARE * self.total_ns]


def place(
    kernels: Sequence[CapturedKernel],
    drafts: Sequence[Draft],
    costs: Mapping[str, Sequence[float]],
    evidence: Mapping[str, str],
    *,
    eager: bool,
) -> Placement:
    """Put every kernel somewhere.

    Args:
        kernels: The capture.
        drafts: The rows.
        costs: What each costs by its work, by a kernel's phase: kernels that several rows share are split so.
        evidence: What an agent says of an op; a kernel that it names goes there.
        eager: Whether the stack computes norms and rotations by generic kernels.
    """
    rows: dict[int, list[tuple[CapturedKernel, int]]] = defaultdict(list)
    plumbing: list[Placed] = []
    unplaced: list[Placed] = []
    for kernel in kernels:
        category = category_of(kernel.name)
        hosts = _named(kernel, drafts, evidence) or _hosts(category, kernel.phase, drafts, eager=eager)
        if hosts:
            weights = costs.get(kernel.phase) or costs[""]
            for index, ns in zip(hosts, _split(kernel.total_ns, [weights[at] for at in hosts]), strict=True):
                rows[index].append((kernel, ns))
            continue
        reason = PLUMBING.get(category, "")
        placed = Placed(
            name=kernel.name[:200],
            reason=reason or f"no row of this kind (its name suggests: {category or 'nothing'})",
            count=kernel.calls,
            ns=kernel.total_ns,
        )
        (plumbing if reason else unplaced).append(placed)
    return Placement(dict(rows), plumbing, unplaced, sum(kernel.total_ns for kernel in kernels))


def category_of(name: str) -> str:
    """What a kernel's name suggests; empty where it suggests nothing."""
    return next((category for category, pattern in CATEGORIES if re.search(pattern, name, re.IGNORECASE)), "")


def _named(kernel: CapturedKernel, drafts: Sequence[Draft], evidence: Mapping[str, str]) -> list[int]:
    return [
        index
        for index, draft in enumerate(drafts)
        if draft.verdict != "fold" and kernel.name[:NAMED_CHARACTERS] in evidence.get(draft.op, "")
    ]


def _hosts(category: str, phase: str, drafts: Sequence[Draft], *, eager: bool) -> list[int]:
    """Rows that a kernel may be of; one that is launched in the other phase only is none of them."""
    generic: dict[str, tuple[str, ...]] = {"pointwise": EAGER, "cat": ("kv_append",)} if eager else {}
    families = generic.get(category, (category,))
    other = {"prefill": "decode", "decode": "prefill"}.get(phase)
    return [
        index
        for index, draft in enumerate(drafts)
        if draft.family in families and draft.verdict != "fold" and draft.counted != other
    ]


def _split(total: int, weights: list[float]) -> list[int]:
    """Whole nanoseconds by weight; the last takes what rounding left, so that none is lost."""
    whole = sum(weights)
    shares = [int(total * weight / whole) if whole else total // len(weights) for weight in weights]
    return [*shares[:-1], total - sum(shares[:-1])]
