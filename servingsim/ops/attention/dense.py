"""Dense (grouped-query) attention over a paged KV cache: the compound op of prefill and decode.

One op because both halves share the algorithm's state: the same KV cache, heads and softmax, split only
by how many queries a request brings. It sees one rank's heads and no parallel layout (INV-4.5); the
layers above see neither of its kernels (INV-3.5-3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from servingsim.ops.pricing import described, push_priced
from servingsim.timing.cost_tree import CostTreeBuilder, Evaluator, Sum
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.attention_decode import KERNEL as DECODE
from servingsim.timing.kernels.attention_decode import AttentionDecodeConfig
from servingsim.timing.kernels.attention_prefill import KERNEL as PREFILL
from servingsim.timing.kernels.attention_prefill import AttentionPrefillConfig
from servingsim.timing.slot_inputs import DECODE_REQUESTS, PREFILL_REQUESTS, coordinates
from servingsim.validation import parse

if TYPE_CHECKING:
    from servingsim.timing.batch import Batches
    from servingsim.timing.contract import Dtype
    from servingsim.timing.coverage import OnMissing
    from servingsim.timing.source import TimingSource


@dataclass(frozen=True)
class DenseAttentionConfig:
    """Per-rank facts of the op.

    Attributes:
        gpu_name: Device key, baked into both sub-kernels.
        num_heads: Query heads on this rank.
        num_kv_heads: KV heads on this rank.
        head_dim: Elements of a head.
        dtype: Of queries and output.
        kv_dtype: Of cached keys and values.
        window_size: Keys that a query sees, 0 for all.
        max_num_tokens: New tokens of an iteration.
        max_num_seqs: Requests of an iteration.
        max_model_len: Tokens of the longest request.
        max_kv_tokens: Keys of all requests of an iteration.
        prefill_backends: Candidates of the prefill kernel.
        decode_backends: Candidates of the decode kernel.
    """

    gpu_name: str
    num_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: Dtype
    kv_dtype: Dtype
    window_size: int
    max_num_tokens: int
    max_num_seqs: int
    max_model_len: int
    max_kv_tokens: int
    prefill_backends: tuple[str, ...] = ()
    decode_backends: tuple[str, ...] = ()


@dataclass(frozen=True)
class DenseAttention:
    """Attention of one layer: a prefill slot and a decode slot, whatever the batch holds (INV-1)."""

    name: str
    prefill: Kernel
    decode: Kernel

    @classmethod
    def build(
        cls, name: str, config: DenseAttentionConfig, source: TimingSource, *, on_missing: OnMissing
    ) -> Self:
        """Both sub-kernels from the op's Config."""
        return cls(
            name,
            Kernel.build(f"{name}.prefill", PREFILL, prefill_config(config), source, on_missing=on_missing),
            Kernel.build(f"{name}.decode", DECODE, decode_config(config), source, on_missing=on_missing),
        )

    def compile(self, builder: CostTreeBuilder) -> Sum:
        """Two leaves, prefill first."""
        kernels = (self.prefill, self.decode)
        return Sum(tuple(builder.leaf(each.name, each.kind.kind, described(each)) for each in kernels))

    def eval(self, batches: Batches, ev: Evaluator) -> None:
        """Fill both slots in compile order (INV-2); prefill fans out over requests into its one slot."""
        push_priced(ev, self.prefill.name, self.prefill, coordinates(PREFILL_REQUESTS, batches))
        push_priced(ev, self.decode.name, self.decode, coordinates(DECODE_REQUESTS, batches))


OP = DenseAttention


def prefill_config(config: DenseAttentionConfig) -> AttentionPrefillConfig:
    """The prefill kernel's Config."""
    own = {"backends": config.prefill_backends, "max_num_tokens": config.max_num_tokens}
    return parse(AttentionPrefillConfig, _shared(config) | own, where="attention_prefill")


def decode_config(config: DenseAttentionConfig) -> AttentionDecodeConfig:
    """The decode kernel's Config."""
    own = {"backends": config.decode_backends, "max_kv_tokens": config.max_kv_tokens}
    return parse(AttentionDecodeConfig, _shared(config) | own, where="attention_decode")


def _shared(config: DenseAttentionConfig) -> dict[str, object]:
    return {
        "gpu_name": config.gpu_name,
        "num_heads": config.num_heads,
        "num_kv_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "dtype": config.dtype,
        "kv_dtype": config.kv_dtype,
        "window_size": config.window_size,
        "max_batch_size": config.max_num_seqs,
        "max_kv_len": config.max_model_len,
    }
