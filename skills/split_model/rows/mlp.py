"""A dense MLP: two or three projections around an activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skills.split_model.draft import Cover
from skills.split_model.rows.modules import FEED_FORWARD, fed_forward, inside

if TYPE_CHECKING:
    from servingsim.archs.model_facts import DenseMlp
    from skills.split_model.draft import Draft
    from skills.split_model.rows.writer import Rows

ACT = "act_fn|activation_fn|act|activation|gelu_impl"


def mlp_rows(at: Rows, mlp: DenseMlp, *, section: str = "mlp") -> list[Draft]:
    """From the normalised input to the down projection."""
    inter = mlp.intermediate_size
    return [
        *at.quantised(f"{section}.gate_up" if mlp.gated else f"{section}.up", at.hidden, "mlp"),
        *_in(at, mlp, section),
        *at.activation(
            section,
            inter,
            gated=mlp.gated,
            name=mlp.activation,
            act=inside(FEED_FORWARD, ACT),
            product=Cover(pattern=FEED_FORWARD, aten=("aten.mul",)),
        ),
        *at.quantised(f"{section}.down", inter, "mlp"),
        *at.gemm(
            f"{section}.down_proj",
            n=at.hidden,
            k=inter,
            covers=(fed_forward("down"),),
            math="linear: down",
            part="mlp",
            bias=mlp.bias,
        ),
    ]


def _in(at: Rows, mlp: DenseMlp, section: str) -> list[Draft]:
    inter, k = mlp.intermediate_size, at.hidden
    if not mlp.gated:
        return at.gemm(
            f"{section}.up_proj",
            n=inter,
            k=k,
            covers=(fed_forward("up", "gate_up"),),
            math="linear: up",
            part="mlp",
            bias=mlp.bias,
        )
    if at.merges("gate_up"):
        return at.gemm(
            f"{section}.gate_up_proj",
            n=2 * inter,
            k=k,
            covers=(fed_forward("gate", "up", "gate_up"),),
            math="linear: gate, up",
            part="mlp",
            bias=mlp.bias,
        )
    return [
        row
        for name, covered in (("gate", ("gate", "gate_up")), ("up", ("up",)))
        for row in at.gemm(
            f"{section}.{name}_proj",
            n=inter,
            k=k,
            covers=(fed_forward(*covered),),
            math=f"linear: {name}",
            part="mlp",
            bias=mlp.bias,
        )
    ]
