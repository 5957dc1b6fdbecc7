"""The build site: what every worklet needs to turn a line of a model into an op (INV-2.5-1).

A worklet says what is launched (`site.gemm("…qkv_proj", n=…, k=…)`); the site adds device, rows to price
it by and the domain to cover.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from servingsim.ops.atomic import Op
from servingsim.ops.attention.dense import DenseAttention, DenseAttentionConfig
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.all_gather import KERNEL as ALL_GATHER
from servingsim.timing.kernels.all_reduce import KERNEL as ALL_REDUCE
from servingsim.timing.kernels.attention_mixed import KERNEL as ATTENTION_MIXED
from servingsim.timing.kernels.elementwise import KERNEL as ELEMENTWISE
from servingsim.timing.kernels.rms_norm import KERNEL as RMS_NORM
from servingsim.timing.kernels.single_gemm import KERNEL as SINGLE_GEMM
from servingsim.timing.slot_inputs import CONTEXT_TOKENS, MIXED_REQUESTS, SAMPLED_POSITIONS, TOTAL_TOKENS
from servingsim.timing.work.amount import dtype_bytes
from servingsim.validation import parse
from servingsim.worklets.routing import candidates

if TYPE_CHECKING:
    from servingsim.timing.contract import Dtype, KernelKind
    from servingsim.timing.coverage import OnMissing
    from servingsim.timing.fields import ElementwiseOp
    from servingsim.timing.slot_inputs import SlotInput
    from servingsim.timing.source import ArgValue, TimingSource
    from servingsim.worklets.bounds import IterationBounds
    from servingsim.worklets.partition import DecoderShape
    from servingsim.worklets.stack import Stack


@dataclass(frozen=True)
class BuildSite:
    """Where a model is built.

    Attributes:
        device: Device key.
        source: Where times come from.
        stack: The serving stack's facts.
        version: Version of the stack whose imported rows are used; empty where there is none.
        bounds: The scheduler's limits.
        on_missing: What a kernel without rows does.
    """

    device: str
    source: TimingSource
    stack: Stack
    version: str
    bounds: IterationBounds
    on_missing: OnMissing

    def gemm(self, name: str, *, n: int, k: int, dtype: Dtype, sampled_only: bool = False) -> Op:
        """A linear layer over all new tokens, or over the sampled positions only."""
        max_m = self.bounds.max_num_seqs if sampled_only else self.bounds.max_num_tokens
        kernel = self.kernel(name, SINGLE_GEMM, n=n, k=k, dtype=dtype, max_m=max_m)
        return Op(name, kernel, SAMPLED_POSITIONS if sampled_only else TOTAL_TOKENS)

    def norm(
        self, name: str, *, hidden_size: int, dtype: Dtype, rows: int = 1, hosts: tuple[str, ...] = ()
    ) -> Op:
        """An RMSNorm over `rows` rows of `hidden_size` for each new token."""
        most = self.bounds.max_num_tokens * rows
        kernel = self.kernel(name, RMS_NORM, hidden_size=hidden_size, dtype=dtype, max_num_tokens=most)
        return Op(name, kernel, TOTAL_TOKENS, width=rows, hosts=hosts)

    def elementwise(
        self,
        name: str,
        op: ElementwiseOp,
        *,
        read: float,
        written: float,
        dtype: Dtype,
        slot_input: SlotInput = TOTAL_TOKENS,
        launches: int = 1,
    ) -> Op:
        """A memory-bound kernel.

        Args:
            name: Op name.
            op: The callable that stands for it.
            read: Elements of `dtype` read for each counted token.
            written: Elements of `dtype` written for each counted token.
            dtype: Of the elements.
            slot_input: What is counted.
            launches: Identical launches in a row.
        """
        whole_context = slot_input is CONTEXT_TOKENS
        kernel = self.kernel(
            name,
            ELEMENTWISE,
            op=op,
            input_bytes_per_token=round(read * dtype_bytes(dtype)),
            output_bytes_per_token=round(written * dtype_bytes(dtype)),
            dtype=dtype,
            max_num_tokens=self.bounds.max_kv_tokens if whole_context else self.bounds.max_num_tokens,
        )
        return Op(name, kernel, slot_input, launches=launches)

    def all_reduce(self, name: str, *, num_ranks: int, elements: int, dtype: Dtype) -> Op:
        """The sum over ranks of `elements` for each new token, an op of its own (INV-6.1)."""
        token_bytes = elements * dtype_bytes(dtype)
        most = round(self.bounds.max_num_tokens * token_bytes)
        kernel = self.kernel(name, ALL_REDUCE, num_ranks=num_ranks, dtype=dtype, max_message_bytes=most)
        return Op(name, kernel, TOTAL_TOKENS, width=token_bytes)

    def logits_gather(self, *, num_ranks: int, elements: int, dtype: Dtype) -> Op:
        """The `elements` logits of each sampled position that a rank has, brought together with those of the others."""
        position_bytes = elements * dtype_bytes(dtype)
        most = round(self.bounds.max_num_seqs * position_bytes)
        name = "head.logits_gather"
        kernel = self.kernel(name, ALL_GATHER, num_ranks=num_ranks, dtype=dtype, max_message_bytes=most)
        return Op(name, kernel, SAMPLED_POSITIONS, width=position_bytes)

    def attention(self, name: str, rank: DecoderShape, window_size: int) -> DenseAttention | Op:
        """Attention over one rank's heads: one launch where such launches were measured, else one a phase."""
        mixed = self.mixed_attention(
            name,
            num_heads=rank.num_heads,
            num_kv_heads=rank.num_kv_heads,
            head_dim=rank.head_dim,
            dtype=rank.dtype,
            kv_dtype=rank.kv_dtype,
            window_size=window_size,
        )
        if mixed is not None:
            return mixed
        config = DenseAttentionConfig(
            gpu_name=self.device,
            num_heads=rank.num_heads,
            num_kv_heads=rank.num_kv_heads,
            head_dim=rank.head_dim,
            dtype=rank.dtype,
            kv_dtype=rank.kv_dtype,
            window_size=window_size,
            max_num_tokens=self.bounds.max_num_tokens,
            max_num_seqs=self.bounds.max_num_seqs,
            max_model_len=self.bounds.max_model_len,
            max_kv_tokens=self.bounds.max_kv_tokens,
            prefill_backends=self._candidates("attention_prefill"),
            decode_backends=self._candidates("attention_decode"),
        )
        return DenseAttention.build(name, config, self.source, on_missing=self.on_missing)

    def mixed_attention(self, name: str, **heads: ArgValue) -> Op | None:
        """Attention over prefill chunks and decodes as the one launch it is; None where none was measured.

        Its rows time the attention layer, which also writes new keys and values into the cache.

        Args:
            name: Of the layer's attention, without the part.
            heads: The args fields that the model fixes.
        """
        present = self.source.backends(ATTENTION_MIXED.kind, self.device)
        if not any(backend in present for backend in self._candidates(ATTENTION_MIXED.kind)):
            return None
        bounds = self.bounds
        limits: dict[str, ArgValue] = {
            "max_num_tokens": bounds.max_num_tokens,
            "max_batch_size": bounds.max_num_seqs,
            "max_kv_len": bounds.max_model_len,
            "max_kv_tokens": bounds.max_kv_tokens,
        }
        fields = (
            {"gpu_name": self.device, "backends": self._candidates(ATTENTION_MIXED.kind)} | heads | limits
        )
        config = parse(ATTENTION_MIXED.config, fields, where=f"{name}.mixed (attention_mixed)")
        kernel = Kernel.build(
            f"{name}.mixed", ATTENTION_MIXED, config, self.source, on_missing="estimate-all"
        )
        if not kernel.tables:
            return None
        kernel = replace(kernel, on_missing=self.on_missing)
        filling = 2 * self.source.device(self.device).multiprocessors / int(heads["num_kv_heads"])
        return Op(kernel.name, kernel, MIXED_REQUESTS, width=filling, hosts=("kv_append",))

    def kernel(self, name: str, kind: KernelKind[Any, Any], **fields: ArgValue) -> Kernel:
        """A kernel of this site; what its Config does not allow is refused under the op's name."""
        routed = {"gpu_name": self.device, "backends": self._candidates(kind.kind, str(fields.get("op", "")))}
        config = parse(kind.config, routed | fields, where=f"{name} ({kind.kind})")
        return Kernel.build(name, kind, config, self.source, on_missing=self.on_missing)

    def _candidates(self, kind: str, op: str = "") -> tuple[str, ...]:
        present = self.source.backends(kind, self.device)
        return candidates(self.stack.route(kind, op), present, self.stack.name, self.version)
