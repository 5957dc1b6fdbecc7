"""`fused_moe` from public callables, as Transformers runs its experts where no fused kernel is installed.

Sort the assignments by expert, gather their rows, gate and up in one product, silu(gate)·up, down, scale by
the router's weights and add back to the tokens. The products: torch's grouped launch on CUDA in bf16,
elsewhere `F.linear` once for each expert that is hit. The router itself is another kernel.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import group_products, rotation, routing
from profiling.backends.tensors import Tensors
from profiling.contract import Backend
from servingsim.timing.work.amount import dtype_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    from torch import Tensor

    from profiling.backends.group_products import Products
    from profiling.backends.routing import Routing
    from profiling.contract import Dtype, Launch, Setting


def prepare(  # noqa: PLR0913 - the args of the kind
    setting: Setting,
    *,
    num_tokens: int,
    hidden_size: int,
    inter_size: int,
    topk: int,
    num_experts: int,
    moe_tp_size: int,
    moe_ep_size: int,
    distribution: str,
    dtype: Dtype,
) -> Launch:
    """Rotate the weights of all experts on the rank, with a routing of its own for each call."""
    width, inter, local = dtype_bytes(dtype), inter_size // moe_tp_size, -(-num_experts // moe_ep_size)
    count = rotation.copies(
        setting,
        operand_bytes=(3 * local * inter + num_tokens) * hidden_size * width,
        result_bytes=num_tokens * topk * (2 * hidden_size + 3 * inter) * width,
    )
    tensors = Tensors.on(setting, dtype)
    tokens = tensors.copies(count, num_tokens, hidden_size)
    gate_up = tensors.copies(count, local, 2 * inter, hidden_size)
    down = tensors.copies(count, local, hidden_size, inter)
    run = partial(experts, tensors.torch, group_products.products(tensors, hidden_size, inter))

    def call(index: int) -> Callable[[], Any]:
        copy = index % count
        batch = routing.route(num_tokens, topk, num_experts, moe_ep_size, distribution, seed=index)
        return partial(run, tokens[copy], gate_up[copy], down[copy], *_assignments(tensors, batch))

    return tensors.launch(call(index) for index in range(max(count, routing.BATCHES)))


def experts(
    torch: ModuleType,
    products: Products,
    tokens: Tensor,
    gate_up: Tensor,
    down: Tensor,
    chosen: Tensor,
    scores: Tensor,
    rows: int,
) -> Tensor:
    """The weighted sum of each token's experts on this rank.

    Args:
        torch: The module.
        products: See `group_products.products`.
        tokens: [num_tokens, hidden].
        gate_up: [experts, 2 * inter, hidden], gate before up.
        down: [experts, hidden, inter].
        chosen: Expert of each assignment [num_tokens * topk], the number of experts for one elsewhere.
        scores: Router weight of each assignment, as `chosen`.
        rows: Assignments to this rank.
    """
    order = chosen.argsort(stable=True)[:rows]
    source = order // (chosen.shape[0] // tokens.shape[0])
    # Searching, unlike counting, needs no word from the host on CUDA.
    ends = torch.searchsorted(chosen[order], torch.arange(len(gate_up), device=chosen.device), right=True)
    gate, up = products(tokens[source], gate_up, ends).chunk(2, dim=-1)
    results = products(torch.nn.functional.silu(gate) * up, down, ends)
    return torch.zeros_like(tokens).index_add_(0, source, results * scores[order].unsqueeze(-1))


def _assignments(tensors: Tensors, batch: Routing) -> tuple[Tensor, Tensor, int]:
    torch = tensors.torch
    with torch.inference_mode():
        chosen = torch.from_numpy(batch.experts).to(tensors.device)
        return chosen, torch.rand(len(batch.experts), device=tensors.device).to(tensors.dtype), batch.rows


def supports(*, inter_size: int, moe_tp_size: int, distribution: str, **_sizes: int | str) -> str:
    """Experts that split evenly, and a distribution that can be drawn."""
    if inter_size % moe_tp_size:
        return f"inter_size {inter_size} is no multiple of moe_tp_size {moe_tp_size}"
    return routing.refusal(distribution)


BACKEND = Backend(
    name="torch",
    kind="fused_moe",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
