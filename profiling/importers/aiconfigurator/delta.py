"""What the tables of the gated delta rule share: one file holds four kernels, told apart by `kernel_source`.

The tables name no dtype: the models that they name compute in bf16. Heads are those of one rank; `d_model` does not
matter to these kernels, so that rows of models that differ in it alone are repeated measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from profiling.importers.aiconfigurator.columns import Text

if TYPE_CHECKING:
    from profiling.importers.aiconfigurator.judge import Judge
    from profiling.importers.aiconfigurator.table import Args

STEMS = ("gdn_perf",)
MARK = "head_k_dim"
OP_NAMES = frozenset({"gdn"})
NUMBERS = ("batch_size", "seq_len", "num_k_heads", "num_v_heads", "head_k_dim", "head_v_dim")
COMPUTE_DTYPE = "bf16"


def delta_args(judge: Judge) -> Args:
    """Args that prefill and decode have in common, in the kinds' order."""
    key_heads, heads = judge.whole("num_k_heads", least=1), judge.whole("num_v_heads", least=1)
    judge.refuse(heads % key_heads.clip(1) != 0, "num_v_heads is no multiple of num_k_heads")
    return {
        "num_k_heads": key_heads,
        "num_v_heads": heads,
        "k_head_dim": judge.whole("head_k_dim", least=1),
        "v_head_dim": judge.whole("head_v_dim", least=1),
        "dtype": Text.constant(COMPUTE_DTYPE, len(judge.columns)),
    }
