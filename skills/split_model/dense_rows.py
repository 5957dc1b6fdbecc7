"""How each kind of row of a dense decoder is written, for the layers of one class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.catalogue.find import catalogue_of
from skills.split_model.draft import Cover, Draft
from skills.split_model.launches import NORM_WHY
from skills.split_model.schema import MapsTo

if TYPE_CHECKING:
    from collections.abc import Collection

    from servingsim.worklets.partition import DecoderShape
    from skills.split_model.model_input import ModelOnStack

ADD_NORM = "fused_add_rms_norm"


@dataclass(frozen=True)
class DenseRows:
    """What all rows of a model share."""

    model: ModelOnStack
    known: Collection[str]

    @property
    def rank(self) -> DecoderShape:
        """One rank's part."""
        return self.model.rank

    def at(self, layer_class: str, repeat: int) -> LayerRows:
        """Rows of the layers of a class."""
        return LayerRows(self, layer_class, repeat)


@dataclass(frozen=True)
class LayerRows:
    """Writes rows for one class of layers."""

    rows: DenseRows
    layer_class: str
    repeat: int

    def gemm(
        self,
        op: str,
        *,
        n: int,
        k: int,
        dtype: str,
        covers: tuple[Cover, ...],
        math: str,
        sampled: bool = False,
    ) -> Draft:
        """A linear layer on the kind `single_gemm`."""
        return self._row(
            op, family="gemm", math=math, verdict="reuse", covers=covers,
            maps_to=MapsTo(kind="single_gemm", args={"n": n, "k": k, "dtype": dtype}, axes=["m"]),
            counted="sampled" if sampled else "tokens",
        )  # fmt: skip

    def projections(
        self, section: str, name: str, module: str, parts: dict[str, int], *, k: int, fused: bool, bias: bool
    ) -> list[Draft]:
        """The projections of one input: one GEMM where the stack merges them; a bias is its epilogue."""
        groups = {name: tuple(parts)} if fused else {part: (part,) for part in parts}
        found = []
        for title, members in groups.items():
            op = f"{section}.{title}_proj"
            found.append(
                self.gemm(
                    op, n=sum(parts[each] for each in members), k=k, dtype=self.rows.rank.gemm_dtype,
                    covers=(Cover(tuple(f"{module}.{each}_proj" for each in members)),),
                    math=f"linear: {', '.join(members)}",
                )
            )  # fmt: skip
            if bias:
                width = sum(parts[each] for each in members)
                fold = self._fold(
                    f"{section}.{title}_bias", op, "bias of the linear layer", (2 * width, width)
                )
                found.append(fold)
        return found

    def norm_before(self, op: str, module: str) -> list[Draft]:
        """The norm before a section, with the residual addition where the stack adds and normalises at once."""
        rank = self.rows.rank
        args: dict[str, Any] = {"hidden_size": rank.hidden_size, "dtype": rank.dtype}
        covers = (Cover((module,)),)
        if not self.rows.model.stack.residual_in_norm:
            return [self._norm(op, args, covers)]
        exists = ADD_NORM in self.rows.known
        return [
            self._row(
                op, family="norm", math="residual sum, then RMSNorm of it",
                verdict="reuse" if exists else "new_kernel", covers=covers, why="" if exists else NORM_WHY,
                maps_to=MapsTo(
                    kind=ADD_NORM, args=args, axes=["num_tokens"], until_then="" if exists else "rms_norm"
                ),
            )
        ]  # fmt: skip

    def head_norms(self) -> list[Draft]:
        """Norms over each query and key head, where the model has them."""
        rank = self.rows.rank
        args = {"hidden_size": rank.head_dim, "dtype": rank.dtype}
        heads = {"q": rank.num_heads, "k": rank.num_kv_heads} if rank.qk_norm else {}
        return [
            self._norm(
                f"attention.{name}_norm", args, (Cover((f"self_attn.{name}_norm",)),), width=float(rows)
            )
            for name, rows in heads.items()
        ]

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
        dtype = dtype or self.rows.rank.dtype
        maps_to = _by_bytes(callable_name, read * dtype_bytes(dtype), written * dtype_bytes(dtype), dtype)
        families = {"rope": "rope", "embedding": "embedding", "silu": "activation", "silu_mul": "activation"}
        chosen = {"family": families.get(callable_name, "pointwise")} | rest
        return self._row(op, math=math, verdict="elementwise", maps_to=maps_to, **chosen)

    def kv_append(self, cover: Cover) -> Draft:
        """New keys and values into the pages, or the whole cache copied twice into a longer one."""
        rank = self.rows.rank
        more: dict[str, Any] = {"family": "kv_append", "covers": (cover,)}
        if self.rows.model.stack.kv_append == "copy":
            written = 2 * rank.kv_size * dtype_bytes(rank.kv_dtype) / dtype_bytes(rank.dtype)
            math = "keys and values of the new tokens into the cache"
            return self.elementwise(
                "attention.kv_append", "copy", math, read=2 * rank.kv_size, written=written, **more
            )
        more |= {"counted": "context", "launches": 2}
        math = "the cache and the new tokens, copied together: keys, then values"
        return self.elementwise(
            "attention.kv_append", "cat", math,
            read=rank.kv_size, written=rank.kv_size, dtype=rank.kv_dtype, **more,
        )  # fmt: skip

    def attention(self, window: int, phases: Collection[str], functions: tuple[str, ...]) -> list[Draft]:
        """Scores, softmax and values as one unit, a launch of its own for prefill and for decode."""
        rank = self.rows.rank
        args: dict[str, Any] = {
            "num_heads": rank.num_heads, "num_kv_heads": rank.num_kv_heads, "head_dim": rank.head_dim,
            "dtype": rank.dtype, "kv_dtype": rank.kv_dtype, "window_size": window,
        }  # fmt: skip
        axes = {"prefill": ["batch_size", "q_len", "prefix_len"], "decode": ["batch_size", "kv_len"]}
        return [
            self._row(
                f"attention.{phase}", family="attention", verdict="reuse",
                math="softmax(q k^T) v, causal" + (f", window {window}" if window else ""),
                maps_to=MapsTo(kind=f"attention_{phase}", args=args, axes=axes[phase]),
                counted=phase, covers=(Cover(("self_attn",), functions=functions, phase=phase),),
            )
            for phase in ("prefill", "decode") if phase in phases
        ]  # fmt: skip

    def activation(self, silu: Cover, product: Cover) -> list[Draft]:
        """silu(gate) * up: one launch, or two."""
        inter = self.rows.rank.intermediate_size
        if self.rows.model.stack.fused_activation:
            math = "silu(gate) * up"
            return [
                self.elementwise(
                    "mlp.silu_mul", "silu_mul", math, read=2 * inter, written=inter, covers=(silu, product)
                )
            ]
        return [
            self.elementwise("mlp.silu", "silu", "silu(gate)", read=inter, written=inter, covers=(silu,)),
            self.elementwise("mlp.mul", "mul", "times up", read=2 * inter, written=inter, covers=(product,)),
        ]

    def residual(self, section: str, *, nth: int, host: str) -> Draft:
        """The addition of a section's output: in the norm that follows, or a launch."""
        op, hidden = f"{section}.residual_add", self.rows.rank.hidden_size
        cover = Cover(("",), aten=("aten.add",), nth=nth)
        if self.rows.model.stack.residual_in_norm:
            return self._fold(
                op, host, "section's output added to the residual", (2 * hidden, hidden), (cover,)
            )
        math = "section's output added to the residual"
        return self.elementwise(op, "add", math, read=2 * hidden, written=hidden, covers=(cover,))

    def quantised(self, projection: str, width: int) -> list[Draft]:
        """The input of an fp8 projection, quantised by a launch that the trace of the plain model has not."""
        rank = self.rows.rank
        if not rank.gemm_dtype.startswith("fp8"):
            return []
        written = width * dtype_bytes(rank.gemm_dtype) / dtype_bytes(rank.dtype)
        op, math = f"{projection}_quant", "input of the projection to fp8 (not in the traced model)"
        return [self.elementwise(op, "copy", math, read=width, written=written)]

    def meeting(self, section: str) -> list[Draft]:
        """The sum over ranks, where there are several."""
        rank = self.rows.rank
        if rank.tp == 1:
            return []
        return [
            self._row(
                f"{section}.all_reduce", family="collective", math="sum over ranks (not in the traced model)",
                verdict="reuse", width=rank.hidden_size * dtype_bytes(rank.dtype),
                maps_to=MapsTo(
                    kind="all_reduce", args={"num_ranks": rank.tp, "dtype": rank.dtype}, axes=["message_bytes"]
                ),
            )
        ]  # fmt: skip

    def logits_gather(self, token_bytes: int) -> list[Draft]:
        """All ranks' logits brought together, where there are several."""
        rank = self.rows.rank
        if rank.tp == 1:
            return []
        return [
            self._row(
                "head.logits_gather", family="collective", math="logits of all ranks (not in the traced model)",
                verdict="reuse", counted="sampled", width=float(token_bytes),
                maps_to=MapsTo(
                    kind="all_gather", args={"num_ranks": rank.tp, "dtype": rank.dtype}, axes=["message_bytes"]
                ),
            )
        ]  # fmt: skip

    def _norm(self, op: str, args: dict[str, Any], covers: tuple[Cover, ...], width: float = 1.0) -> Draft:
        return self._row(
            op, family="norm", math="RMSNorm", verdict="reuse", covers=covers, width=width,
            maps_to=MapsTo(kind="rms_norm", args=args, axes=["num_tokens"]),
        )  # fmt: skip

    def _fold(
        self, op: str, host: str, math: str, sizes: tuple[int, int], covers: tuple[Cover, ...] = ()
    ) -> Draft:
        """An epilogue of another row, and the elements a token that it would move by itself."""
        alone = self.elementwise(op, "add", math, read=sizes[0], written=sizes[1])
        return self._row(
            op,
            family="pointwise",
            math=math,
            verdict="fold",
            maps_to=MapsTo(host=host),
            placeholder=alone.maps_to,
            covers=covers,
        )

    def _row(self, op: str, **fields: Any) -> Draft:  # noqa: ANN401 - fields of Draft
        source = catalogue_of(self.rows.model.stack.name).source_of(op)
        return Draft(op=op, layer_class=self.layer_class, repeat=self.repeat, source=source, **fields)


def _by_bytes(callable_name: str, read: float, written: float, dtype: str) -> MapsTo:
    """The kind `elementwise` for a callable and its bytes a token."""
    read_bytes, written_bytes = round(read), round(written)
    args: dict[str, Any] = {
        "op": callable_name,
        "input_bytes_per_token": read_bytes,
        "output_bytes_per_token": written_bytes,
        "dtype": dtype,
    }
    return MapsTo(kind="elementwise", args=args, axes=["num_tokens"])
