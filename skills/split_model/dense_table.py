"""The dense decoder's rows: one layer of each class and what runs outside the loop, on one rank of a stack.

The verdicts follow the launches of the stack, whose source each row names; the math is only where it is traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.dense_rows import DenseRows
from skills.split_model.draft import Cover
from skills.split_model.schema import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Collection

    from servingsim.archs.facts import LayerGroup
    from skills.split_model.draft import Draft
    from skills.split_model.model_input import ModelOnStack

ROTATION = ("apply_rotary_pos_emb", "rotate_half")
ATTENTION = ("sdpa_attention_forward", "repeat_kv", "use_gqa_in_sdpa")


def dense_drafts(model: ModelOnStack, phases: Collection[str], known: Collection[str]) -> list[Draft]:
    """Every row, in the order of the forward.

    Args:
        model: The model on its stack.
        phases: `prefill`, `decode`: what is asked about.
        known: Kernel kinds that exist.
    """
    rows = DenseRows(model, known)
    return [
        *_embedding(rows),
        *(
            draft
            for group in model.facts.layer_groups
            for draft in (*_attention(rows, group, phases), *_mlp(rows, group))
        ),
        *_head(rows),
    ]


def _embedding(rows: DenseRows) -> list[Draft]:
    hidden = rows.rank.hidden_size
    at = rows.at(OUTSIDE, 1)
    return [
        at.elementwise(
            "embed.lookup", "embedding", "rows of the embedding by token id", read=hidden, written=hidden,
            covers=(Cover(("model.embed_tokens",)),),
        ),
        *at.meeting("embed"),
    ]  # fmt: skip


def _attention(rows: DenseRows, group: LayerGroup, phases: Collection[str]) -> list[Draft]:
    at, rank, model = rows.at(group.name, group.count), rows.rank, rows.model
    return [
        *at.norm_before("attention.norm", "input_layernorm"),
        *at.quantised("attention.qkv", rank.hidden_size),
        *at.projections(
            "attention", "qkv", "self_attn", {"q": rank.q_size, "k": rank.kv_size, "v": rank.kv_size},
            k=rank.hidden_size, fused=model.stack.fused_qkv, bias=model.facts.qkv_bias,
        ),
        *at.head_norms(),
        at.elementwise(
            "attention.rope", "rope", "rotates queries and keys by position",
            read=rank.q_size + rank.kv_size, written=rank.q_size + rank.kv_size,
            covers=(Cover(("self_attn",), functions=ROTATION),),
        ),
        at.kv_append(Cover(("self_attn",), functions=("update", "lazy_initialization"))),
        *at.attention(group.window_size, phases, ATTENTION),
        *at.quantised("attention.o", rank.q_size),
        *at.projections(
            "attention", "o", "self_attn", {"o": rank.hidden_size},
            k=rank.q_size, fused=False, bias=model.facts.o_bias,
        ),
        *at.meeting("attention"),
        at.residual("attention", nth=0, host="mlp.norm"),
    ]  # fmt: skip


def _mlp(rows: DenseRows, group: LayerGroup) -> list[Draft]:
    at, rank, model = rows.at(group.name, group.count), rows.rank, rows.model
    inter, bias = rank.intermediate_size, model.facts.mlp_bias
    return [
        *at.norm_before("mlp.norm", "post_attention_layernorm"),
        *at.quantised("mlp.gate_up", rank.hidden_size),
        *at.projections(
            "mlp", "gate_up", "mlp", {"gate": inter, "up": inter},
            k=rank.hidden_size, fused=model.stack.fused_gate_up, bias=bias,
        ),
        *at.activation(Cover(("mlp.act_fn",)), Cover(("mlp",), aten=("aten.mul",))),
        *at.quantised("mlp.down", inter),
        *at.projections("mlp", "down", "mlp", {"down": rank.hidden_size}, k=inter, fused=False, bias=bias),
        *at.meeting("mlp"),
        at.residual("mlp", nth=1, host="attention.norm"),
    ]  # fmt: skip


def _head(rows: DenseRows) -> list[Draft]:
    at, rank = rows.at(OUTSIDE, 1), rows.rank
    lm_head = at.gemm(
        "head.lm_head", n=rank.vocab_size, k=rank.hidden_size, dtype=rank.dtype, covers=(Cover(("lm_head",)),),
        math="logits of the sampled positions", sampled=True,
    )  # fmt: skip
    gathered = round(rank.vocab_size * dtype_bytes(rank.dtype))
    return [*at.norm_before("head.final_norm", "model.norm"), lm_head, *at.logits_gather(gathered)]
