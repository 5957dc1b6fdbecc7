"""The lightning indexer of sparse MLA: its projections, its cache, the scores that choose keys, attention over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skills.split_model.draft import Cover
from skills.split_model.rows.missing import INDEX_WHY, LAYER_NORM_WHY, SPARSE_WHY
from skills.split_model.rows.modules import attended, inside, own

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LatentAttention
    from skills.split_model.draft import Draft
    from skills.split_model.rows.writer import Rows

AT = "attention"
INDEXER = r"(?:.+\.)?(?:indexer|index)"


def index_rows(at: Rows, mixer: LatentAttention) -> list[Draft]:
    """From the query latent and the input to the indices of the keys."""
    width, query = mixer.index_heads * mixer.index_head_dim, mixer.q_lora_rank or at.hidden
    both = width + mixer.index_head_dim
    return [
        *at.gemm(
            f"{AT}.index_q_proj",
            n=width,
            k=query,
            covers=(inside(INDEXER, "wq_b|q_b_proj|q_proj"),),
            math="linear: index queries",
            part="attention",
        ),
        *at.gemm(
            f"{AT}.index_k_proj",
            n=mixer.index_head_dim,
            k=at.hidden,
            covers=(inside(INDEXER, "wk|k_proj"),),
            math="linear: one index key a token",
            part="attention",
        ),
        *at.gemm(
            f"{AT}.index_weights_proj",
            n=mixer.index_heads,
            k=at.hidden,
            covers=(inside(INDEXER, "weights_proj"),),
            math="linear: weight of each index head",
        ),
        at.kernel(
            f"{AT}.index_k_norm",
            "layer_norm",
            {"hidden_size": mixer.index_head_dim, "dtype": at.dtype},
            ["num_tokens"],
            why=LAYER_NORM_WHY,
            until_then="rms_norm",
            family="norm",
            math="LayerNorm of the index key",
            covers=(inside(INDEXER, "k_norm|k_layernorm"),),
        ),
        at.elementwise(
            f"{AT}.index_append",
            "copy",
            "index queries and key rotated, to fp8, the key into its cache",
            read=both,
            written=both / 2,
            family="kv_append",
        ),
        *(_choice(at, mixer, phase) for phase in ("prefill", "decode") if phase in at.site.phases),
    ]


def _choice(at: Rows, mixer: LatentAttention, phase: str) -> Draft:
    axes = {"prefill": ["batch_size", "q_len", "prefix_len"], "decode": ["batch_size", "kv_len"]}
    args = {
        "index_heads": mixer.index_heads,
        "index_head_dim": mixer.index_head_dim,
        "topk": mixer.index_topk,
        "dtype": "fp8",
    }
    return at.kernel(
        f"{AT}.index_{phase}",
        f"sparse_index_{phase}",
        args,
        axes[phase],
        why=INDEX_WHY,
        family="attention",
        math=f"index scores of every key, then the {mixer.index_topk} highest",
        counted=phase,
        # Eager code turns the choice into a mask, in the attention itself.
        covers=(Cover(pattern=INDEXER, phase=phase), own(phase=phase, without=("aten.cat",))),
    )


def sparse_attention(at: Rows, mixer: LatentAttention, fixed: dict[str, Any]) -> list[Draft]:
    """Attention of every new token over the latents that were chosen for it."""
    axes = {"prefill": ["batch_size", "q_len", "prefix_len"], "decode": ["batch_size", "kv_len"]}
    return [
        at.kernel(
            f"{AT}.{phase}",
            f"sparse_mla_{phase}",
            {**fixed, "topk": mixer.index_topk},
            axes[phase],
            why=SPARSE_WHY,
            until_then=f"mla_{phase}",
            family="attention",
            counted=phase,
            math=f"softmax(q c^T) c over at most {mixer.index_topk} chosen latents",
            covers=(attended(phase),),
        )
        for phase in ("prefill", "decode")
        if phase in at.site.phases
    ]
