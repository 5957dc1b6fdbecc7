"""From rows to an architecture: what is priced, what stands in, what is left out, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pytest

from servingsim.archs.explore import model_facts
from servingsim.errors import ServingSimError
from servingsim.timing.registry import kernels
from skills.split_model.compile import compiled, slot_input_of
from skills.split_model.draft import Counted, Draft
from skills.split_model.schema import MapsTo, StackName
from skills.split_model.table_model import table_model

if TYPE_CHECKING:
    from servingsim.timing.slot_inputs import SlotInput

KINDS = kernels()
GEMM = Draft(
    op="mlp.up_proj", layer_class="layers", repeat=2, family="gemm", math="linear", verdict="reuse", source="here",
    maps_to=MapsTo(kind="single_gemm", args={"n": 64, "k": 32, "dtype": "bf16"}, axes=["m"]),
)  # fmt: skip
BIAS = replace(GEMM, op="mlp.up_bias", family="pointwise", verdict="fold", maps_to=MapsTo(host="mlp.up_proj"))
NORM = replace(
    GEMM, op="mlp.norm", family="norm", verdict="new_kernel", why="two in one",
    maps_to=MapsTo(
        kind="fused_add_rms_norm", args={"hidden_size": 32, "dtype": "bf16"}, axes=["num_tokens"], until_then="rms_norm"
    ),
)  # fmt: skip
GATHER = replace(
    GEMM, op="head.logits_gather", layer_class="outside", repeat=1, verdict="new_kernel",
    why="no kind sends all to all",
    maps_to=MapsTo(kind="all_to_all", args={"num_ranks": 2, "dtype": "bf16"}, axes=["message_bytes"]),
)  # fmt: skip


def test_a_fold_costs_what_its_host_costs_and_is_named_there() -> None:
    """Defect: an epilogue priced a second time, or lost without a trace."""
    (row,) = compiled([GEMM, BIAS], KINDS).rows
    assert (row.name, row.hosts) == ("layers.mlp.up_proj", ("up_bias",))


@pytest.mark.parametrize("host", ["", "mlp.gone_proj", "mlp.up_bias"])
def test_a_fold_without_a_host_that_is_priced_is_refused(host: str) -> None:
    """Defect: an operation that costs nothing anywhere."""
    with pytest.raises(ServingSimError, match="which prices nothing"):
        compiled([GEMM, replace(BIAS, maps_to=MapsTo(host=host))], KINDS)


def test_what_is_not_wired_is_stood_in_for_or_left_out_and_said() -> None:
    """Defect: a new kernel dropped from the tree in silence, or priced as if it existed."""
    table = compiled([NORM, GATHER], KINDS)
    assert [(row.name, row.kind, row.hosts) for row in table.rows] == [
        ("layers.mlp.norm", "rms_norm", ("residual_add",))
    ]
    assert table.stood_in == (("layers.mlp.norm", "fused_add_rms_norm", "rms_norm"),)
    assert [(each.name, each.kind, each.reason) for each in table.left_out] == [
        ("head.logits_gather", "all_to_all", "no kind sends all to all")
    ]


def test_args_of_a_row_on_its_own_kind_are_never_dropped() -> None:
    """Defect: a reuse that changes what args mean: the field that tells is lost on the way."""
    maps_to = MapsTo(kind="single_gemm", args={"n": 64, "k": 32, "dtype": "bf16", "groups": 4}, axes=["m"])
    (row,) = compiled([replace(GEMM, maps_to=maps_to)], KINDS).rows
    assert "groups" in row.args


def counted(kind: str, what: Counted) -> SlotInput:
    return slot_input_of(replace(GEMM, counted=what), KINDS[kind])


@pytest.mark.parametrize(
    ("kind", "what", "name"),
    [
        ("single_gemm", "tokens", "total_tokens"),
        ("single_gemm", "sampled", "sampled_positions"),
        ("elementwise", "context", "context_tokens"),
        ("single_gemm", "prefill_context", "prefill_context"),
        ("grouped_gemm", "decode_tokens", "decode_tokens"),
        ("attention_prefill", "prefill", "prefill_requests"),
        ("attention_decode", "decode", "decode_requests"),
        ("mla_prefill", "decode", "decode_queries"),
        ("gated_delta_prefill", "prefill", "prefill_lengths"),
        ("gated_delta_decode", "decode", "decode_tokens"),
    ],
)
def test_a_row_is_counted_by_what_it_grows_with(kind: str, what: Counted, name: str) -> None:
    """Defect: a decode's step over states counted for the tokens of prefills."""
    assert counted(kind, what).name == name


def test_a_size_that_nothing_counts_is_refused() -> None:
    with pytest.raises(ServingSimError, match="no slot input counts tokens for the axes batch_size, kv_len"):
        counted("attention_decode", "tokens")


TINY = {
    "model_type": "llama", "vocab_size": 256, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 128, "max_position_embeddings": 1024, "dtype": "bfloat16",
    "tie_word_embeddings": False, "hidden_act": "silu",
}  # fmt: skip


@pytest.mark.parametrize("stack", get_args(StackName))
def test_every_stack_of_a_split_compiles(stack: str) -> None:
    """Defect: a stack that can be asked for and has no table."""
    model = table_model(model_facts(TINY, where="tiny"), stack=stack)
    assert {row.kind for row in model.rows} >= {"single_gemm", "attention_prefill", "attention_decode"}
