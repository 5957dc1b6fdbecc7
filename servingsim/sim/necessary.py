"""The independent accountant's view of an iteration: the same model and batch, as plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.bounds import dense as accountant
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from servingsim.archs.dense import DenseArch
    from servingsim.archs.facts import DenseFacts
    from servingsim.timing.batch import Batch
    from servingsim.timing.source import DeviceSpec
    from servingsim.worklets.partition import DecoderShape


def necessary(arch: DenseArch, batch: Batch) -> accountant.NecessaryWork:
    """Necessary work of the batch on one rank, counted without looking at the tree."""
    rows = batch.rows
    prefill = zip(rows.q_len.tolist(), rows.prefix_len.tolist(), rows.samples.tolist(), strict=True)
    model = plain_sizes(arch.facts, arch.rank)
    return accountant.necessary_work(model, list(prefill), rows.kv_len.tolist())


def plain_sizes(facts: DenseFacts, rank: DecoderShape) -> accountant.DenseModel:
    """The whole model as the accountant takes it, to be divided over the rank's tp."""
    return accountant.DenseModel(
        layers=tuple((group.count, group.window_size) for group in facts.layer_groups),
        hidden_size=facts.hidden_size,
        num_heads=facts.num_heads,
        num_kv_heads=facts.num_kv_heads,
        head_dim=facts.head_dim,
        intermediate_size=facts.intermediate_size,
        vocab_size=facts.vocab_size,
        layer_weight_bytes=dtype_bytes(facts.gemm_dtype),
        embedding_bytes=dtype_bytes(facts.dtype),
        kv_bytes=dtype_bytes(rank.kv_dtype),
        tp=rank.tp,
    )


def bound(arch: DenseArch, batch: Batch, device: DeviceSpec) -> accountant.Bound | None:
    """What no implementation on the device beats; None where the device's peaks are unknown.

    At the peak of the linear layers' dtype, which is the higher one where weights are quantised.
    """
    dtype = arch.rank.gemm_dtype
    peak = device.peak_flops.get(dtype) or device.peak_flops.get(dtype.split("_")[0])
    if not peak or not device.memory_bytes_per_s:
        return None
    return accountant.bound(necessary(arch, batch), peak_flops=peak, bytes_per_s=device.memory_bytes_per_s)
