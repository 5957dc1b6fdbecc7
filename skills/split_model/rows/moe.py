"""Routed experts: the router, the choice, tokens to their experts and back, the experts, what every token passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.timing.work.amount import dtype_bytes
from servingsim.worklets.partition import divided
from skills.split_model.draft import Cover
from skills.split_model.rows.missing import DISPATCH_WHY, ROUTING_WHY
from skills.split_model.rows.mlp import ACT, mlp_rows
from skills.split_model.rows.modules import (
    FEED_FORWARD,
    REGION_EXPERTS,
    ROUTER,
    SHARED,
    inside,
    residual_sum,
    shared,
)

if TYPE_CHECKING:
    from servingsim.archs.model_facts import MoeMlp
    from skills.split_model.draft import Counted, Draft
    from skills.split_model.rank import Rank
    from skills.split_model.rows.writer import Rows

AT = "moe"
CHOICE_BYTES = 8
"""Of a token's choice of one expert: its number and its weight, 4 bytes each."""
LINEAR = ("aten.linear", "aten.mm", "aten.addmm", "aten.matmul", "aten.bmm")
SHARED_SUM = Cover(pattern=FEED_FORWARD, aten=("aten.add", "aten.add_"))
EXPERTS = Cover(pattern=r".*", aten=(REGION_EXPERTS,))
INSIDE_EXPERTS = Cover(pattern=rf"(?:{FEED_FORWARD}\.)?experts(?:\..+)?", without=(REGION_EXPERTS,))


def moe_rows(at: Rows, mlp: MoeMlp, *, nth: int = 1, apart: bool = False) -> list[Draft]:
    """From the normalised input to the sum of all experts of a token.

    Args:
        at: The layers.
        mlp: Their experts.
        nth: Which addition of the layer joins what runs beside them.
        apart: Whether it is the layer that adds the shared experts' output.
    """
    return [
        *_parallel_dense(at, mlp, nth),
        *_routing(at, mlp),
        *_latent(at, mlp, "down"),
        *_travel(at, mlp, "dispatch"),
        *_experts(at, mlp),
        *_travel(at, mlp, "combine"),
        *_latent(at, mlp, "up"),
        *_shared(at, mlp, residual_sum(nth) if apart else SHARED_SUM),
    ]


def _routing(at: Rows, mlp: MoeMlp) -> list[Draft]:
    args = {"num_experts": mlp.num_experts, "topk": mlp.top_k, "dtype": at.dtype}
    return [
        *at.gemm(
            f"{AT}.router",
            n=mlp.num_experts,
            k=at.hidden,
            math="linear: a score for each expert",
            covers=(Cover(pattern=ROUTER, aten=LINEAR),),
            bias=mlp.router_bias,
        ),
        at.kernel(
            f"{AT}.topk",
            "topk_routing",
            args,
            ["num_tokens"],
            why=ROUTING_WHY,
            family="routing",
            math=f"scores, the {mlp.top_k} highest of {mlp.num_experts}, their weights",
            covers=(Cover(pattern=ROUTER, without=LINEAR), Cover(pattern=FEED_FORWARD, functions=ROUTES)),
        ),
    ]


ROUTES = ("route_tokens_to_experts", "get_topk_indices", "topk_routing")


def _travel(at: Rows, mlp: MoeMlp, way: str) -> list[Draft]:
    """Tokens to the ranks of their experts, and back."""
    if not at.site.rank.dispatched:
        return []
    return [_by_rows(at, mlp, way) if at.site.catalogue.gives == "rows" else _by_gather(at, mlp, way)]


def _by_gather(at: Rows, mlp: MoeMlp, way: str) -> Draft:
    """All replicas get the tokens of all; each sums its own tokens' results of all ranks."""
    there, width = way == "dispatch", dtype_bytes(at.dtype)
    told = {"scores": mlp.num_experts * width, "choices": mlp.top_k * CHOICE_BYTES}
    token_bytes = (mlp.latent_size or at.hidden) * width + (
        told.get(at.site.catalogue.gives, 0) if there else 0
    )
    return at.kernel(
        f"{AT}.{way}",
        "all_gather" if there else "reduce_scatter",
        {"num_ranks": at.site.rank.replicas, "dtype": at.dtype},
        ["message_bytes"],
        counted="gathered",
        family="collective",
        math="tokens of all replicas to each (not in the traced model)"
        if there
        else "results of all ranks summed, each replica's own kept",
        width=token_bytes,
    )


def _by_rows(at: Rows, mlp: MoeMlp, way: str) -> Draft:
    args = {
        "hidden_size": mlp.latent_size or at.hidden,
        "topk": mlp.top_k,
        "num_experts": mlp.num_experts,
        "num_ranks": at.site.rank.ep,
        "dtype": at.dtype,
    }
    return at.kernel(
        f"{AT}.{way}",
        f"moe_{way}",
        args,
        ["num_tokens"],
        why=DISPATCH_WHY,
        counted="gathered",
        family="collective",
        math="tokens to their experts' ranks" if way == "dispatch" else "results back, weighted and summed",
    )


def _experts(at: Rows, mlp: MoeMlp) -> list[Draft]:
    rank, dtype = at.site.rank, at.weight_dtype("experts")
    hidden, width = mlp.latent_size or at.hidden, float(rank.replicas)
    if mlp.gated:
        args = {
            "hidden_size": hidden,
            "inter_size": mlp.expert_size,
            "topk": mlp.top_k,
            "num_experts": mlp.num_experts,
            "moe_tp_size": rank.moe_tp,
            "moe_ep_size": rank.ep,
            "distribution": "balanced",
            "dtype": dtype,
        }
        said = "" if mlp.activation == "silu" else f", activation {mlp.activation}"
        biased = ", biases in the epilogues" if mlp.expert_bias else ""
        return [
            at.kernel(
                f"{AT}.experts",
                "fused_moe",
                args,
                ["num_tokens"],
                family="moe",
                counted=_counted(rank),
                width=width,
                math=f"gate and up, activation, down of {mlp.top_k} experts a token, their weighted sum{said}{biased}",
                covers=(EXPERTS, INSIDE_EXPERTS, *_weighted(mlp)),
            )
        ]
    return _plain_experts(at, mlp, hidden, dtype)


def _counted(rank: Rank) -> Counted:
    """What experts compute: the tokens of all replicas that share them, else those of the rank."""
    return "pooled" if rank.dispatched else "tokens"


def _weighted(mlp: MoeMlp) -> tuple[Cover, ...]:
    """Weights on the experts' input and the sum behind them, where eager code computes them beside the experts."""
    sums = ("aten.repeat", "aten.sum", "aten.reshape")
    own_products = mlp.shared_gate or mlp.parallel_dense is not None
    return (Cover(pattern=FEED_FORWARD, aten=sums if own_products else (*sums, "aten.mul")),)


def _plain_experts(at: Rows, mlp: MoeMlp, hidden: int, dtype: str) -> list[Draft]:
    """Experts of two matrices: `fused_moe` has three, so up and down are launches of their own."""
    rank = at.site.rank
    groups = divided(mlp.num_experts, rank.ep, "num_experts")
    inter = divided(mlp.expert_size, rank.moe_tp, "the expert's intermediate size")
    rows, counted = mlp.top_k * rank.replicas / rank.ep, _counted(rank)
    return [
        at.groups_gemm(
            f"{AT}.experts_up",
            groups=groups,
            n=inter,
            k=hidden,
            dtype=dtype,
            width=rows,
            counted=counted,
            family="moe",
            math="up projection of each token's experts",
            covers=(EXPERTS, INSIDE_EXPERTS, *_weighted(mlp)),
        ),
        at.elementwise(
            f"{AT}.experts_act",
            "relu2" if mlp.activation == "relu2" else "silu",
            f"{mlp.activation} of each chosen expert",
            read=inter,
            written=inter,
            width=rows,
            counted=counted,
        ),
        at.groups_gemm(
            f"{AT}.experts_down",
            groups=groups,
            n=hidden,
            k=inter,
            dtype=dtype,
            width=rows,
            counted=counted,
            family="moe",
            math="down projection of each token's experts",
        ),
        at.elementwise(
            f"{AT}.experts_sum",
            "add",
            "weighted sum over each token's experts",
            read=rows * hidden,
            written=hidden,
            counted=counted,
        ),
    ]


def _latent(at: Rows, mlp: MoeMlp, way: str) -> list[Draft]:
    """Tokens into the narrower space of the experts, and out of it."""
    if not mlp.latent_size:
        return []
    sizes = (mlp.latent_size, at.hidden) if way == "down" else (at.hidden, mlp.latent_size)
    return at.gemm(
        f"{AT}.latent_{way}",
        n=sizes[0],
        k=sizes[1],
        math=f"linear: latent {way}",
        part="experts",
        covers=(inside(FEED_FORWARD, f"fc{1 if way == 'down' else 2}_latent_proj|latent_{way}_proj"),),
    )


def _shared(at: Rows, mlp: MoeMlp, added: Cover) -> list[Draft]:
    """What every token passes beside its experts, and the sum of both."""
    if not mlp.shared_size:
        return []
    size, section = mlp.shared_size, f"{AT}.shared"
    names = ("gate", "up", "gate_up") if mlp.gated else ("up",)
    merged = not mlp.gated or at.merges("gate_up")
    groups = (
        {"gate_up" if mlp.gated else "up": names} if merged else {"gate": ("gate", "gate_up"), "up": ("up",)}
    )
    factor = 2 if merged and mlp.gated else 1
    return [
        *at.quantised(f"{section}_in", at.hidden, "shared"),
        *(
            row
            for name, covered in groups.items()
            for row in at.gemm(
                f"{section}_{name}_proj",
                n=factor * size,
                k=at.hidden,
                covers=(shared(*covered),),
                math=f"linear: {name} of the shared experts",
                part="shared",
            )
        ),
        *at.activation(
            section,
            size,
            gated=mlp.gated,
            name=mlp.activation,
            act=inside(SHARED, ACT),
            product=Cover(pattern=SHARED, aten=("aten.mul",)),
        ),
        *at.quantised(f"{section}_down", size, "shared"),
        *at.gemm(
            f"{section}_down_proj",
            n=at.hidden,
            k=size,
            covers=(shared("down"),),
            math="linear: down of the shared experts",
            part="shared",
        ),
        *_shared_gate(at, mlp),
        at.elementwise(
            f"{section}_add",
            "add",
            "shared and routed experts together",
            read=2 * at.hidden,
            written=at.hidden,
            covers=(added,),
        ),
    ]


def _shared_gate(at: Rows, mlp: MoeMlp) -> list[Draft]:
    if not mlp.shared_gate:
        return []
    return [
        *at.gemm(
            f"{AT}.shared_gate",
            n=1,
            k=at.hidden,
            covers=(inside(FEED_FORWARD, "shared_expert_gate"),),
            math="linear: gate of the shared experts",
        ),
        at.elementwise(
            f"{AT}.shared_scale",
            "sigmoid_mul",
            "sigmoid(gate) times the shared experts' output",
            read=at.hidden + 1,
            written=at.hidden,
            covers=(Cover(pattern=FEED_FORWARD, aten=("aten.mul", "aten.sigmoid")),),
        ),
    ]


def _parallel_dense(at: Rows, mlp: MoeMlp, nth: int) -> list[Draft]:
    """A dense MLP beside the experts, its output added to theirs."""
    if mlp.parallel_dense is None:
        return []
    return [
        *mlp_rows(at, mlp.parallel_dense),
        at.elementwise(
            f"{AT}.parallel_add",
            "add",
            "dense MLP and experts together",
            read=2 * at.hidden,
            written=at.hidden,
            covers=(residual_sum(nth),),
        ),
    ]
