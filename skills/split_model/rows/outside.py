"""What runs once an iteration: the embedding before the layers, the final norm and the lm_head behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.draft import Cover
from skills.split_model.schema import OUTSIDE

if TYPE_CHECKING:
    from skills.split_model.draft import Draft
    from skills.split_model.rows.writer import Site

EMBEDDING = r"(?:.+\.)?(?:embed_tokens|embeddings|wte|word_embeddings|embed_in|tok_embeddings)"
FINAL_NORM = r"(?:.+\.)?(?:norm|norm_f|final_layernorm|final_layer_norm|ln_f|final_norm|embedding_norm)"


def before(site: Site) -> list[Draft]:
    """The embedding."""
    at = site.at(OUTSIDE, 1)
    return [
        at.elementwise(
            "embed.lookup",
            "embedding",
            "rows of the embedding by token id",
            read=at.hidden,
            written=at.hidden,
            covers=(Cover(pattern=EMBEDDING),),
        ),
        *at.meeting("embed"),
    ]


def behind(site: Site) -> list[Draft]:
    """Final norm over all new tokens, lm_head over the sampled positions."""
    at, rank = site.at(OUTSIDE, 1), site.rank
    return [
        at.norm_before("head.final_norm", (Cover(pattern=FINAL_NORM),)),
        *at.gemm(
            "head.lm_head",
            n=rank.vocab_size,
            k=at.hidden,
            covers=(Cover(pattern="lm_head|embed_out|output"),),
            math="logits of the sampled positions",
            counted="sampled",
            bias=rank.facts.lm_head_bias,
        ),
        *at.logits_gather(round(rank.vocab_size * dtype_bytes(at.dtype))),
    ]
