"""How each kind of row is written, for the layers of one class of any decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.archs.explore import weight_dtype
from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.draft import Draft
from skills.split_model.launches import NORM_WHY
from skills.split_model.rows.missing import LAYER_NORM_WHY
from skills.split_model.rows.modules import added_inside, residual_sum
from skills.split_model.schema import MapsTo

if TYPE_CHECKING:
    from collections.abc import Collection

    from servingsim.archs.explore.weights import Part
    from skills.split_model.catalogue.entry import Catalogue
    from skills.split_model.draft import Counted, Cover, Family
    from skills.split_model.rank import Rank

ADD_NORM = "fused_add_rms_norm"
FAMILIES: dict[str, Family] = {
    "rope": "rope",
    "embedding": "embedding",
    "silu": "activation",
    "silu_mul": "activation",
    "gelu_mul": "activation",
    "relu2": "activation",
    "causal_conv1d": "conv",
}


@dataclass(frozen=True)
class Site:
    """What all rows of a model share.

    Attributes:
        rank: One rank's part.
        catalogue: What the stack launches.
        known: Kernel kinds that exist.
        phases: `prefill`, `decode`: what is asked about.
    """

    rank: Rank
    catalogue: Catalogue
    known: Collection[str]
    phases: Collection[str]

    def at(self, layer_class: str, repeat: int, first: int = 0) -> Rows:
        """Rows of the layers of a class, whose first is named."""
        return Rows(self, layer_class, repeat, first)


@dataclass(frozen=True)
class Rows:
    """Writes the rows of one class of layers."""

    site: Site
    layer_class: str
    repeat: int
    first: int = 0

    def weight_dtype(self, part: Part) -> str:
        """Of the linear weights of a part of the layer."""
        return weight_dtype(self.site.rank.facts, part, self.first)

    @property
    def hidden(self) -> int:
        """Width of the residual stream."""
        return self.site.rank.facts.hidden_size

    @property
    def dtype(self) -> str:
        """Of activations."""
        return self.site.rank.facts.dtype

    def merges(self, name: str) -> bool:
        """Whether the stack does it in one launch."""
        return name in self.site.catalogue.merges

    def row(self, op: str, **fields: Any) -> Draft:  # noqa: ANN401 - fields of Draft
        """A row, with the stack's source."""
        source = self.site.catalogue.source_of(op)
        return Draft(op=op, layer_class=self.layer_class, repeat=self.repeat, source=source, **fields)

    def kernel(
        self,
        op: str,
        kind: str,
        args: dict[str, Any],
        axes: list[str],
        *,
        why: str = "",
        **fields: Any,  # noqa: ANN401 - fields of Draft
    ) -> Draft:
        """A row on a kind; one that is not wired yet is a new kernel, for the reason given."""
        missing = kind not in self.site.known
        until_then = fields.pop("until_then", "")
        maps_to = MapsTo(kind=kind, args=args, axes=axes, until_then=until_then if missing else "")
        verdict = "new_kernel" if missing else "reuse"
        return self.row(op, verdict=verdict, maps_to=maps_to, why=why if missing else "", **fields)

    def gemm(
        self,
        op: str,
        *,
        n: int,
        k: int,
        covers: tuple[Cover, ...],
        math: str,
        part: Part | None = None,
        counted: Counted = "tokens",
        bias: bool = False,
    ) -> list[Draft]:
        """A linear layer on the kind `single_gemm`, and its bias as an epilogue.

        Args:
            op: The row.
            n: Output features of this rank.
            k: Input features of this rank.
            covers: What is traced of it.
            math: In words.
            part: Of the layer, which says whether it is quantised; None: never quantised.
            counted: What its rows are.
            bias: Whether there is one.
        """
        dtype = self.weight_dtype(part) if part else self.dtype
        found = [
            self.row(
                op,
                family="gemm",
                math=math,
                verdict="reuse",
                covers=covers,
                counted=counted,
                maps_to=MapsTo(kind="single_gemm", args={"n": n, "k": k, "dtype": dtype}, axes=["m"]),
            )
        ]
        if bias:
            name = f"{op.removesuffix('_proj')}_bias"
            found.append(self.fold(name, op, "bias of the linear layer", read=2 * n, written=n))
        return found

    def groups_gemm(
        self,
        op: str,
        *,
        groups: int,
        n: int,
        k: int,
        math: str,
        dtype: str,
        width: float,
        **fields: Any,  # noqa: ANN401 - fields of Draft
    ) -> Draft:
        """One product for each group (head, expert) with `width` rows a token over all groups."""
        args = {"num_groups": groups, "n": n, "k": k, "dtype": dtype}
        family = fields.pop("family", "gemm")
        return self.kernel(op, "grouped_gemm", args, ["m"], family=family, math=math, width=width, **fields)

    def quantised(
        self, projection: str, width: int, part: Part, *, counted: Counted = "tokens"
    ) -> list[Draft]:
        """The input of a projection of 8-bit or nvfp4 floats, quantised by a launch that the trace has not."""
        dtype = self.weight_dtype(part)
        if not dtype.startswith("fp8") and dtype != "nvfp4":
            return []
        written = width * dtype_bytes(dtype) / dtype_bytes(self.dtype)
        math = f"input of the projection to {dtype} (not in the traced model)"
        return [
            self.elementwise(
                f"{projection}_quant", "copy", math, read=width, written=written, counted=counted
            )
        ]

    def norm(
        self,
        op: str,
        *,
        size: int,
        covers: tuple[Cover, ...],
        rows: float = 1.0,
        launches: int = 1,
        counted: Counted = "tokens",
    ) -> Draft:
        """A norm over rows of `size` elements, `rows` of them a token."""
        args: dict[str, Any] = {"hidden_size": size, "dtype": self.dtype}
        layer = self.site.rank.facts.norm == "layer"
        kind, math, why = (
            ("layer_norm", "LayerNorm", LAYER_NORM_WHY) if layer else ("rms_norm", "RMSNorm", "")
        )
        return self.kernel(
            op,
            kind,
            args,
            ["num_tokens"],
            why=why,
            until_then="rms_norm",
            family="norm",
            math=math,
            covers=covers,
            width=rows,
            launches=launches,
            counted=counted,
        )

    def norm_before(self, op: str, covers: tuple[Cover, ...]) -> Draft:
        """The norm before a section, with the residual addition where the stack adds and normalises at once."""
        if not self.merges("add_norm") or self.site.rank.facts.norm == "layer":
            return self.norm(op, size=self.hidden, covers=covers)
        return self.kernel(
            op,
            ADD_NORM,
            {"hidden_size": self.hidden, "dtype": self.dtype},
            ["num_tokens"],
            why=NORM_WHY,
            until_then="rms_norm",
            family="norm",
            math="residual sum, then RMSNorm of it",
            covers=covers,
        )

    def elementwise(
        self,
        op: str,
        callable_name: str,
        math: str,
        *,
        read: float,
        written: float,
        dtype: str = "",
        **rest: Any,  # noqa: ANN401 - fields of Draft
    ) -> Draft:
        """A memory-bound launch, sized by elements a token."""
        dtype = dtype or self.dtype
        size = dtype_bytes(dtype)
        maps_to = by_bytes(callable_name, read * size, written * size, dtype)
        chosen = {"family": FAMILIES.get(callable_name, "pointwise")} | rest
        return self.row(op, math=math, verdict="elementwise", maps_to=maps_to, **chosen)

    def fold(
        self, op: str, host: str, math: str, *, read: int, written: int, covers: tuple[Cover, ...] = ()
    ) -> Draft:
        """An epilogue of another row, and the elements a token that it would move by itself."""
        alone = self.elementwise(op, "add", math, read=read, written=written)
        return self.row(
            op,
            family="pointwise",
            math=math,
            verdict="fold",
            maps_to=MapsTo(host=host),
            placeholder=alone.maps_to,
            covers=covers,
        )

    def activation(
        self,
        section: str,
        size: int,
        *,
        gated: bool,
        name: str,
        act: Cover,
        product: Cover | None,
        rows: float = 1.0,
    ) -> list[Draft]:
        """The activation between two projections: with the product at once, apart from it, or alone.

        A callable that no kind measures under its own name is priced as the nearest: by its bytes alone.
        """
        said = name if name != "unknown" else "activation"
        if not gated:
            callable_name = "relu2" if name == "relu2" else "silu"
            return [
                self.elementwise(
                    f"{section}.act", callable_name, said, read=size, written=size, covers=(act,), width=rows
                )
            ]
        both = (product,) if product else ()
        if self.merges("act_mul"):
            callable_name = "gelu_mul" if name == "gelu" else "silu_mul"
            return [
                self.elementwise(
                    f"{section}.{callable_name}",
                    callable_name,
                    f"{said}(gate) * up",
                    read=2 * size,
                    written=size,
                    covers=(act, *both),
                    width=rows,
                )
            ]
        return [
            self.elementwise(
                f"{section}.silu", "silu", f"{said}(gate)", read=size, written=size, covers=(act,), width=rows
            ),
            self.elementwise(
                f"{section}.mul", "mul", "times up", read=2 * size, written=size, covers=both, width=rows
            ),
        ]

    def meeting(self, section: str) -> list[Draft]:
        """The sum over ranks, where there are several."""
        tp = self.site.rank.tp
        if tp == 1:
            return []
        args = {"num_ranks": tp, "dtype": self.dtype}
        width = self.hidden * dtype_bytes(self.dtype)
        return [
            self.kernel(
                f"{section}.all_reduce",
                "all_reduce",
                args,
                ["message_bytes"],
                family="collective",
                math="sum over ranks (not in the traced model)",
                width=width,
            )
        ]

    def residual(
        self, section: str, *, nth: int, host: str, more: tuple[Cover, ...] = (), alone: bool = False
    ) -> Draft:
        """The addition of a section's output: in the norm that follows, or a launch; alone where none follows."""
        op, hidden = f"{section}.residual_add", self.hidden
        covers = (residual_sum(nth), added_inside(section), *more)
        math = "section's output added to the residual"
        if not alone and self.merges("add_norm") and self.site.rank.facts.norm != "layer":
            return self.fold(op, host, math, read=2 * hidden, written=hidden, covers=covers)
        return self.elementwise(op, "add", math, read=2 * hidden, written=hidden, covers=covers)

    def logits_gather(self, token_bytes: int) -> list[Draft]:
        """All ranks' logits brought together, where there are several."""
        tp = self.site.rank.tp
        if tp == 1:
            return []
        return [
            self.kernel(
                "head.logits_gather",
                "all_gather",
                {"num_ranks": tp, "dtype": self.dtype},
                ["message_bytes"],
                family="collective",
                math="logits of all ranks (not in the traced model)",
                counted="sampled",
                width=float(token_bytes),
            )
        ]


def by_bytes(callable_name: str, read: float, written: float, dtype: str) -> MapsTo:
    """The kind `elementwise` for a callable and its bytes a token."""
    args: dict[str, Any] = {
        "op": callable_name,
        "input_bytes_per_token": max(round(read), 1),
        "output_bytes_per_token": max(round(written), 1),
        "dtype": dtype,
    }
    return MapsTo(kind="elementwise", args=args, axes=["num_tokens"])
