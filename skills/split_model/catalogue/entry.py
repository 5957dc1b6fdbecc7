"""The form of a fusion catalogue: which operations a stack merges, and where its source launches each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Merge = Literal["qkv", "gate_up", "act_mul", "add_norm", "qkv_a", "rope_append", "absorb"]
"""What one launch may do at once: projections of one input (`qkv`, `gate_up`, the latents of MLA `qkv_a`), activation
and product (`act_mul`), residual sum and norm (`add_norm`), rotation and cache write (`rope_append`). `absorb` is no
launch: decode of MLA over the latent, not over expanded keys."""

Gives = Literal["rows", "hidden", "scores", "choices"]


@dataclass(frozen=True)
class Launch:
    """One launch of a stack, and where its source issues it.

    Attributes:
        what: The callable, and what is particular about it.
        file: Path in the repository.
        symbol: Class or function there.
    """

    what: str
    file: str
    symbol: str


@dataclass(frozen=True)
class Catalogue:
    """What one stack launches for a decoder.

    Attributes:
        stack: As a request names it.
        title: As people write it, with its version.
        repository: Of its source, `owner/name`.
        version: Of the source that was read.
        merges: What it does in one launch.
        kv_append: `copy`: new tokens into pages; `cat`: the cache is copied to grow.
        vocab_multiple: The vocabulary is padded to a multiple of this.
        max_tp: Largest tensor-parallel degree that it is split for.
        gives: What replicas that share experts give each other for a token: its `hidden` state alone, with its `scores`
            of all experts, or with its `choices`; then their results are summed and scattered. `rows`: an all-to-all
            of rows for the experts' ranks and back.
        launches: By the end of an op's name; the longest that fits is meant.
    """

    stack: str
    title: str
    repository: str
    version: str
    merges: frozenset[Merge]
    kv_append: Literal["copy", "cat"]
    vocab_multiple: int
    max_tp: int
    launches: Mapping[str, Launch]
    gives: Gives = "rows"

    def launch_of(self, op: str) -> Launch | None:
        """The entry of an op; None where the catalogue has none."""
        fitting = [name for name in self.launches if op == name or op.endswith(name)]
        return self.launches[max(fitting, key=len)] if fitting else None

    def source_of(self, op: str) -> str:
        """What speaks for an op's granularity without a capture: the launch, its repository, file, symbol, version."""
        launch = self.launch_of(op)
        if launch is None:
            return f"{self.title}: no entry of the catalogue"
        return f"{self.title}: {launch.what} [{self.repository}@{self.version} {launch.file} {launch.symbol}]"
