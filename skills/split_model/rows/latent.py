"""Multi-head latent attention: latents down and up, one cached latent a token, expanded in prefill, absorbed in decode.

Prefill expands the latents of all its keys by one projection and attends as usual heads do; decode multiplies the
queries by that projection instead (W_UK into q, W_UV behind the attention) and attends over the latents
themselves (DeepSeek-V2, arXiv 2405.04434, 2.1.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.timing.work.amount import dtype_bytes
from skills.split_model.draft import Cover
from skills.split_model.rows.indexer import index_rows, sparse_attention
from skills.split_model.rows.missing import MLA_WHY
from skills.split_model.rows.modules import ATTENTION, appended, attended, inside, own, projected, rotated

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LatentAttention
    from skills.split_model.draft import Counted, Draft
    from skills.split_model.rows.writer import Rows

AT = "attention"


def latent_rows(at: Rows, mixer: LatentAttention) -> list[Draft]:
    """From the normalised input to the output projection."""
    output = mixer.num_heads * mixer.v_head_dim
    return [
        *at.quantised(f"{AT}.qkv_a", at.hidden, "attention"),
        *_down(at, mixer),
        *_queries(at, mixer),
        *(index_rows(at, mixer) if mixer.index_topk else []),
        *_positions(at, mixer),
        *_append(at, mixer),
        *(_expanded(at, mixer) if _expands(at, mixer) else []),
        *(_absorbed(at, mixer) if _absorbs(at, mixer) else []),
        *at.quantised(f"{AT}.o", output, "attention"),
        *at.gemm(
            f"{AT}.o_proj",
            n=at.hidden,
            k=output,
            covers=(projected("o"),),
            math="linear: o",
            part="attention",
            bias=mixer.bias,
        ),
    ]


def _expands(at: Rows, mixer: LatentAttention) -> bool:
    """Whether keys and values are expanded: in prefill, unless few of them are chosen; always without absorption."""
    return not at.merges("absorb") or ("prefill" in at.site.phases and not mixer.index_topk)


def _absorbs(at: Rows, mixer: LatentAttention) -> bool:
    return at.merges("absorb") and ("decode" in at.site.phases or bool(mixer.index_topk))


def _down(at: Rows, mixer: LatentAttention) -> list[Draft]:
    """The latents; every rank computes them whole."""
    latent = mixer.kv_lora_rank + mixer.qk_rope_head_dim
    down = inside(ATTENTION, "kv_a_proj_with_mqa|kv_a_proj|wkv_a")
    if not mixer.q_lora_rank:
        return at.gemm(
            f"{AT}.kv_a_proj",
            n=latent,
            k=at.hidden,
            covers=(down,),
            math="linear: latent of keys and values",
            part="attention",
            bias=mixer.bias,
        )
    queries = inside(ATTENTION, "q_a_proj|wq_a")
    if at.merges("qkv_a"):
        return at.gemm(
            f"{AT}.qkv_a_proj",
            n=mixer.q_lora_rank + latent,
            k=at.hidden,
            covers=(queries, down),
            math="linear: latents of queries, and of keys and values",
            part="attention",
            bias=mixer.bias,
        )
    return [
        *at.gemm(
            f"{AT}.q_a_proj",
            n=mixer.q_lora_rank,
            k=at.hidden,
            covers=(queries,),
            math="linear: latent of queries",
            part="attention",
            bias=mixer.bias,
        ),
        *at.gemm(
            f"{AT}.kv_a_proj",
            n=latent,
            k=at.hidden,
            covers=(down,),
            math="linear: latent of keys and values",
            part="attention",
            bias=mixer.bias,
        ),
    ]


def _queries(at: Rows, mixer: LatentAttention) -> list[Draft]:
    width = mixer.num_heads * (mixer.qk_nope_head_dim + mixer.qk_rope_head_dim)
    latent_norm = at.norm(
        f"{AT}.kv_a_norm", size=mixer.kv_lora_rank, covers=(inside(ATTENTION, "kv_a_layernorm|kv_norm"),)
    )
    if not mixer.q_lora_rank:
        direct = at.gemm(
            f"{AT}.q_proj", n=width, k=at.hidden, covers=(projected("q"),), math="linear: q", part="attention"
        )
        return [*direct, latent_norm]
    return [
        at.norm(
            f"{AT}.q_a_norm", size=mixer.q_lora_rank, covers=(inside(ATTENTION, "q_a_layernorm|q_norm"),)
        ),
        latent_norm,
        *at.quantised(f"{AT}.q_b", mixer.q_lora_rank, "attention"),
        *at.gemm(
            f"{AT}.q_b_proj",
            n=width,
            k=mixer.q_lora_rank,
            covers=(inside(ATTENTION, "q_b_proj|wq_b"),),
            math="linear: queries from their latent",
            part="attention",
        ),
    ]


def _positions(at: Rows, mixer: LatentAttention) -> list[Draft]:
    size = (mixer.num_heads + 1) * mixer.qk_rope_head_dim
    math = "rotates the positional part of queries and the key that all heads share"
    return [at.elementwise(f"{AT}.rope", "rope", math, read=size, written=size, covers=(rotated(),))]


def _append(at: Rows, mixer: LatentAttention) -> list[Draft]:
    latent = mixer.kv_lora_rank + mixer.qk_rope_head_dim
    kv_dtype = at.site.rank.kv_dtype
    if at.site.catalogue.kv_append == "copy":
        written = latent * dtype_bytes(kv_dtype) / dtype_bytes(at.dtype)
        math = "latent and shared key of the new tokens into the cache"
        return [
            at.elementwise(
                f"{AT}.kv_append",
                "copy",
                math,
                read=latent,
                written=written,
                family="kv_append",
                covers=(appended(),),
            )
        ]
    math = "latents, then shared keys: the cache and the new tokens, copied together"
    return [
        at.elementwise(
            f"{AT}.kv_append",
            "cat",
            math,
            read=latent / 2,
            written=latent / 2,
            dtype=kv_dtype,
            family="kv_append",
            counted="context",
            launches=2,
            covers=(appended(),),
        )
    ]


def _fixed(at: Rows, mixer: LatentAttention) -> dict[str, Any]:
    return {
        "num_heads": mixer.num_heads,
        "kv_lora_rank": mixer.kv_lora_rank,
        "qk_nope_head_dim": mixer.qk_nope_head_dim,
        "qk_rope_head_dim": mixer.qk_rope_head_dim,
        "v_head_dim": mixer.v_head_dim,
        "dtype": at.dtype,
        "kv_dtype": at.site.rank.kv_dtype,
    }


def _expanded(at: Rows, mixer: LatentAttention) -> list[Draft]:
    """Keys and values of every head from the latents of all keys: in prefill; eager code does it in decode too."""
    absorbs = at.merges("absorb")
    only = "prefill" if absorbs else ""
    width = mixer.num_heads * (mixer.qk_nope_head_dim + mixer.v_head_dim)
    keys = mixer.num_heads * (mixer.qk_nope_head_dim + mixer.qk_rope_head_dim)
    counted: Counted = "prefill_context" if absorbs else "context"
    found = [
        *at.quantised(f"{AT}.kv_b", mixer.kv_lora_rank, "attention", counted=counted),
        *at.gemm(
            f"{AT}.kv_b_proj",
            n=width,
            k=mixer.kv_lora_rank,
            counted=counted,
            part="attention",
            math="linear: keys and values of every head from the latents of all keys",
            covers=(Cover(pattern=rf"{ATTENTION}\.(?:kv_b_proj|wkv_b)", phase=only),),
        ),
        at.elementwise(
            f"{AT}.k_concat",
            "cat",
            "rotated and other part of each key beside each other",
            read=keys,
            written=keys,
            counted=counted,
            covers=(own(phase=only, aten=("aten.cat",)),),
        ),
    ]
    axes = ["batch_size", "q_len", "prefix_len"]
    return found + [
        at.kernel(
            f"{AT}.{phase}",
            "mla_prefill",
            _fixed(at, mixer),
            axes,
            why=MLA_WHY,
            until_then="",
            family="attention",
            math="softmax(q k^T) v over expanded keys and values, causal",
            counted=phase,
            covers=(attended(phase),),
        )
        for phase in ("prefill", "decode")
        if phase in at.site.phases and only in {"", phase}
    ]


def _absorbed(at: Rows, mixer: LatentAttention) -> list[Draft]:
    """Queries into the latent space, attention there, values out of it."""
    sparse = bool(mixer.index_topk)
    counted: Counted = "tokens" if sparse else "decode_tokens"
    phase = "" if sparse else "decode"
    heads = mixer.num_heads
    latent = mixer.kv_lora_rank + mixer.qk_rope_head_dim
    core = (
        sparse_attention(at, mixer, _fixed(at, mixer))
        if sparse
        else [
            at.kernel(
                f"{AT}.decode",
                "mla_decode",
                _fixed(at, mixer),
                ["batch_size", "kv_len"],
                why=MLA_WHY,
                family="attention",
                math="softmax(q c^T) c over cached latents",
                counted="decode",
                covers=(attended("decode"),),
            )
        ]
    )
    return [
        at.groups_gemm(
            f"{AT}.q_absorb",
            groups=heads,
            n=mixer.kv_lora_rank,
            k=mixer.qk_nope_head_dim,
            dtype=at.dtype,
            width=float(heads),
            math="queries of each head times W_UK (kv_b_proj of the plain model, re-associated)",
            counted=counted,
            covers=(Cover(pattern=rf"{ATTENTION}\.(?:kv_b_proj|wkv_b)", phase=phase),),
        ),
        at.elementwise(
            f"{AT}.q_concat",
            "cat",
            "absorbed and rotated part of each query beside each other",
            read=heads * latent,
            written=heads * latent,
            counted=counted,
            covers=(own(phase=phase, aten=("aten.cat",)),),
        ),
        *core,
        at.groups_gemm(
            f"{AT}.v_up",
            groups=heads,
            n=mixer.v_head_dim,
            k=mixer.kv_lora_rank,
            dtype=at.dtype,
            width=float(heads),
            math="latent of each head times W_UV (kv_b_proj of the plain model, re-associated)",
            counted=counted,
        ),
    ]
