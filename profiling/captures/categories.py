"""What a kernel's name and its host operation suggest that it computes: a suggestion with a confidence, never proof."""

from __future__ import annotations

import re
from functools import lru_cache

SPECIFIC, PLAIN, WEAK = 0.9, 0.7, 0.4
AGREED = 0.05
"""Added where the host operation suggests the same."""
LONGEST = 2000
"""Characters of a name that are looked at: templates repeat themselves."""

RULES: tuple[tuple[str, str, float], ...] = (
    ("memcpy", r"^memcpy|^memory copy|copydevicetohost|copyhosttodevice", SPECIFIC),
    ("memset", r"^memset|fillbuffer", SPECIFIC),
    (
        "allreduce_norm",
        r"all_?reduce.{0,80}(rms|norm)|oneshot.*norm|allreduce_fusion|fused_allreduce|lamport.*norm",
        SPECIFIC,
    ),
    (
        "collective",
        r"nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem|cross_device|symm_mem|broadcastkernel",
        SPECIFIC,
    ),
    (
        "moe_finalize",
        r"finalize.{0,20}(moe|scatter)|moe.{0,60}finalize|finalize_?kernel|moe_sum|moe_unpermute",
        PLAIN,
    ),
    (
        "moe_dispatch",
        r"deep_?ep|moe.{0,30}(dispatch|combine)|(dispatch|combine).{0,20}(intranode|internode)",
        SPECIFIC,
    ),
    (
        "moe_routing",
        (
            r"routing|topk_?softmax|topk_?gating|grouped_?topk|moe_align|moe.{0,40}(sort|index|permute|count)|expertoffset"
            r"|expert_?(count|offset|map)|biased_grouped_topk|_topk_|combined_routing|_bitmatrix|_matmul_metadata"
        ),
        PLAIN,
    ),
    (
        "moe_gemm",
        (
            r"fused_moe|moe_?gemm|moe.{0,40}gemm|grouped_?gemm|group_?gemm|_?matmul_ogs|bmm_mxe|bmm_\w+mxe|"
            r"moe_wna16|marlin_moe|ck_moe|gemm_moe|moe_stage|bmm_e[245]m[0-9].*(dynbatch|clmp|swiglu|bn)"
        ),
        SPECIFIC,
    ),
    (
        "gated_delta_rule",
        r"chunk_?gated_?delta|gated_?delta|delta_?rule|chunk_(fwd|scaled|local)|recompute_w_u|gdn",
        PLAIN,
    ),
    (
        "mamba_scan",
        r"selective_?scan|mamba|ssd_|chunk_(state|scan|cumsum)|state_passing|selective_state",
        PLAIN,
    ),
    (
        "preparation",
        r"create_\w*indices|page_indices|slot_?mapping|clamp_position|advance_step|prepare_(input|next|pos)|seq_?lens",
        PLAIN,
    ),
    ("causal_conv1d", r"causal_?conv1d", SPECIFIC),
    (
        "sampling",
        r"argmax|top_?p|top_?k|multinomial|sampl|log_?softmax|penalt|gumbel|logits|distribution",
        PLAIN,
    ),
    (
        "kv_append",
        (
            r"reshape_?and_?cache|append_?paged|concat_and_cache|(?<!attention_with_)kv_?cache|cache_?kernel|store_?kv|set_(mla_)?kv|"
            r"paged_kv_append|set_kv_buffer"
        ),
        PLAIN,
    ),
    ("rope", r"rotary|rope|apply_rotary", PLAIN),
    ("add_norm", r"fused_?add_?rms|add_?rms_?norm|fused_?add_?norm|fusedaddrmsnorm|add_?rmsnorm", SPECIFIC),
    ("norm", r"rms_?norm|layer_?norm|rsqrt|(?<![a-z])norm_?kernel|l2norm|qk_?norm", PLAIN),
    (
        "attention",
        (
            r"flash_?(fwd|attn|attention|infer|mla|bwd|decode)|flashattn|fmha|attention|attn|(?<![a-z])mha|mqa|mla_|"
            r"prefillwith|decodewith|batchprefill|batchdecode|splitkv|paged_attention|pagedattention|scaled_dot_product|fav\d"
        ),
        PLAIN,
    ),
    ("activation", r"silu|swiglu|act_and_mul|gelu|relu2|sigmoid_?mul", PLAIN),
    ("quantize", r"quant|cvt_?fp(4|8|16)|to_?fp8|mxfp|nvfp4|dynamic_scale|scaled_fp", PLAIN),
    (
        "gemm",
        (
            r"gemm|gemv|nvjet|cublas|cutlass.*(sm\d+|kernel)|xmma|splitk|matmul|wmma|mma_|hgemm|bmm_|cijk_|tensile|wvsplitk|"
            r"machete|marlin|linear_kernel|_mm_kernel|triton_tem_fused|^aten::(add|b|_)*mm|aten::linear|onednn_mm"
        ),
        PLAIN,
    ),
    ("embedding", r"embedding|vocab_?parallel", PLAIN),
    (
        "gather",
        r"index_?select|vectorized_gather|gather|indexkernel|index_elementwise|scatter|index_put",
        WEAK,
    ),
    ("sort", r"radix_?sort|sort|scan_?kernel|devicescan|cumsum|deviceradix", WEAK),
    ("fill", r"fill|arange|iota|zeros", WEAK),
    ("copy", r"copy|catarray|cat_?batched|transpose|contiguous|memcpy", WEAK),
    (
        "elementwise",
        r"triton_(poi|red|per)|elementwise|pointwise|reduce_?kernel|softmax|multi_tensor_apply",
        WEAK,
    ),
)
"""First that fits. Norms joined to a collective go before both; attention and MoE before `gemm`, whose libraries they
are built with; quantisation after the kernels that carry a quantised type in their name."""
GENERIC = {"elementwise", "copy", "fill", "gather", "sort", ""}
"""What a name says that names only how; the host operation then says more."""
COMPILED = tuple(
    (category, re.compile(pattern, re.IGNORECASE), confidence) for category, pattern, confidence in RULES
)


@lru_cache(maxsize=65536)
def category_of(name: str, cpu_op: str = "") -> tuple[str, float]:
    """Category and confidence; empty and 0 where nothing is suggested.

    Args:
        name: The kernel's.
        cpu_op: The host operation that launched it, where it is known.
    """
    category, confidence = _of_kernel(name)
    meant, _ = _by_name(cpu_op) if cpu_op else ("", 0.0)
    if meant in ("", category):
        return category, round(confidence + (AGREED if meant and category else 0.0), 2)
    if category in GENERIC:
        return meant, WEAK + AGREED
    return category, round(confidence - AGREED, 2)


def _of_kernel(name: str) -> tuple[str, float]:
    """By the function's own name; what stands in its template only where that says nothing of what is computed."""
    own = own_name(name)
    category, confidence = _by_name(own)
    if category not in GENERIC or own == name:
        return category, confidence
    inside, _ = _by_name(name[len(own) :])
    return (inside, WEAK) if inside else (category, confidence)


def own_name(name: str) -> str:
    """A function's name without return type, template arguments and parameters; of a mangled one its beginning."""
    if name.startswith("_Z"):
        return _unmangled(name)
    text = re.sub(r"\(anonymous namespace\)::|<unnamed>::", "", name).removeprefix("void ")
    while text.startswith("std::enable_if<"):  # a return type: what it guards follows its closing bracket
        text = text[_closing(text, len("std::enable_if")) :].removeprefix("::type").lstrip()
    found = re.search(r"(?<=[^\s<(])[<(]", text)
    return (text[: found.start()] if found else text) or name


def _unmangled(name: str) -> str:
    """Namespaces and name of a function in the Itanium form: each is written behind its length."""
    at = 3 if name.startswith("_ZN") else 2
    parts: list[str] = []
    while found := re.compile(r"K?(\d{1,3})").match(name, at):
        end = found.end() + int(found[1])
        part = name[found.end() : end]
        parts += [] if part.startswith("_GLOBAL__N_") else [part]
        at = end
    return "::".join(parts) or name


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one at `at`; a parenthesis inside may hold comparisons."""
    depth = round_depth = 0
    for place in range(at, len(text)):
        round_depth += {"(": 1, ")": -1}.get(text[place], 0)
        if round_depth == 0:
            depth += {"<": 1, ">": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    return len(text)


def _by_name(name: str) -> tuple[str, float]:
    text = name[:LONGEST]
    for category, pattern, confidence in COMPILED:
        if pattern.search(text):
            return category, confidence
    return "", 0.0
