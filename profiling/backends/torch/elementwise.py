"""`elementwise` with the public callables that a model's code uses.

copy `torch.clone` · add `torch.add` · mul `torch.mul` · silu `F.silu` · silu_mul `F.silu(gate) * up`, two
launches · rope the two half rotations of each head and `torch.cat` (vLLM's native formula) · cat `torch.cat`
of a block of cached keys [1, heads, num_tokens - 1, head_dim] and one new token, as a cache that grows by
concatenation · embedding `F.embedding`, a gather of rows that no other call has touched · gelu_mul, sigmoid_mul as
silu_mul with another function of the gate · relu2 `F.relu` and its square · causal_conv1d `F.conv1d` of every channel
by itself over CONV_WIDTH tokens up to its own, then `F.silu` · causal_conv1d_update the same for one token a request,
from a kept state and into it · gated_norm RMSNorm of each head in fp32, times `F.silu` of a gate · delta_gates strength
and decay of a gated delta rule, from one row of both. sigmoid_mul may have one gate a token in place of a row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from profiling.backends import elementwise_shapes as shapes
from profiling.backends import rotation
from profiling.backends.tensors import Tensors
from profiling.contract import Backend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

    from torch import Tensor

    from profiling.contract import Dtype, Launch, Setting

    Calls = Iterator[Callable[[], Any]]

EPSILON = 1e-6
CONV_WIDTH = 4
"""Taps of the short convolution in layers that have one."""
TEMPORARIES = {"silu_mul": 2, "gelu_mul": 2, "sigmoid_mul": 2, "relu2": 2, "rope": 5, "causal_conv1d": 4}
TEMPORARIES |= {"causal_conv1d_update": 3 * CONV_WIDTH, "gated_norm": 12, "delta_gates": 12}
"""Rows that a launch allocates for each row of its result, itself included; one for the others."""


def prepare(
    setting: Setting,
    *,
    num_tokens: int,
    op: str,
    input_bytes_per_token: int,
    output_bytes_per_token: int,
    dtype: Dtype,
) -> Launch:
    """Rotate all inputs of the op."""
    count = rotation.copies(
        setting,
        operand_bytes=num_tokens * input_bytes_per_token,
        result_bytes=num_tokens * output_bytes_per_token * TEMPORARIES.get(op, 1),
    )
    tensors = Tensors.on(setting, dtype)
    width = shapes.elements(output_bytes_per_token, dtype)
    if op == "sigmoid_mul" and input_bytes_per_token == shapes.one_gate(output_bytes_per_token, dtype):
        return tensors.launch(_one_gate(tensors, count, num_tokens, width))
    if op in FLAT:
        return tensors.launch(_flat(tensors, op, count, num_tokens, width))
    return tensors.launch(SHAPED[op](tensors, count, num_tokens, width))


def silu_mul(torch: ModuleType, gate: Tensor, up: Tensor) -> Tensor:
    """The gated activation of an MLP."""
    return torch.nn.functional.silu(gate) * up


def gelu_mul(torch: ModuleType, gate: Tensor, up: Tensor) -> Tensor:
    """As `silu_mul`, with the tanh form of gelu."""
    return torch.nn.functional.gelu(gate, approximate="tanh") * up


def sigmoid_mul(torch: ModuleType, gate: Tensor, rows: Tensor) -> Tensor:
    """The gate of an attention output."""
    return torch.sigmoid(gate) * rows


def relu2(torch: ModuleType, rows: Tensor) -> Tensor:
    """The squared activation of an MLP without a gate."""
    return torch.nn.functional.relu(rows).square()


def causal_conv1d(torch: ModuleType, rows: Tensor, taps: Tensor) -> Tensor:
    """Convolution of rows [tokens, channels] over the tokens by taps [channels, 1, width], none from the future."""
    functional, width = torch.nn.functional, taps.shape[-1]
    channels = rows.transpose(0, 1).unsqueeze(0)
    mixed = functional.conv1d(channels, taps, padding=width - 1, groups=rows.shape[1])[..., : rows.shape[0]]
    return functional.silu(mixed)


def causal_conv1d_update(torch: ModuleType, rows: Tensor, state: Tensor, taps: Tensor) -> Tensor:
    """One token a request, rows [requests, channels, 1], after the tokens of a state that moves on by one."""
    seen = torch.cat((state, rows), dim=-1)
    state.copy_(seen[:, :, -state.shape[-1] :])
    mixed = torch.nn.functional.conv1d(seen, taps, groups=rows.shape[1])[:, :, -1:]
    return torch.nn.functional.silu(mixed)


def gated_norm(torch: ModuleType, rows: Tensor, gate: Tensor, weight: Tensor) -> Tensor:
    """RMSNorm of rows [rows, head_dim], then the gate: as `Qwen3NextRMSNormGated` of Transformers 5 computes it."""
    wide = rows.float()
    normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)
    normed = (weight * normed.to(rows.dtype)) * torch.nn.functional.silu(gate.float())
    return normed.to(rows.dtype)


def delta_gates(torch: ModuleType, rows: Tensor, log_a: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Strength and decay of each head from rows [tokens, 2 * heads]: as `Qwen3NextGatedDeltaNet` computes them."""
    strength, step = rows.chunk(2, dim=-1)
    return strength.sigmoid(), -log_a.float().exp() * torch.nn.functional.softplus(step.float() + bias)


def rotate_halves(torch: ModuleType, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of x [tokens, heads, head_dim] by cos and sin [tokens, 1, head_dim / 2]."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


FLAT: dict[str, Callable[[ModuleType], Callable[..., Any]]] = {
    "copy": lambda torch: torch.clone,
    "add": lambda torch: torch.add,
    "mul": lambda torch: torch.mul,
    "silu": lambda torch: torch.nn.functional.silu,
    "silu_mul": lambda torch: partial(silu_mul, torch),
    "gelu_mul": lambda torch: partial(gelu_mul, torch),
    "sigmoid_mul": lambda torch: partial(sigmoid_mul, torch),
    "relu2": lambda torch: partial(relu2, torch),
}
"""Ops whose inputs all are [tokens, width], by how to find the callable."""


def _flat(tensors: Tensors, op: str, count: int, tokens: int, width: int) -> Calls:
    call = FLAT[op](tensors.torch)
    inputs = [tensors.copies(count, tokens, width) for _ in range(shapes.INPUTS[op])]
    for operands in zip(*inputs, strict=True):
        yield partial(call, *operands)


def _rope(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    """Cosines and sines are one pair for all copies: every layer of a forward uses the same."""
    dim = shapes.head_dim(width)
    cos, sin = tensors.copies(2, tokens, 1, dim // 2)
    for x in tensors.copies(count, tokens, width // dim, dim):
        yield partial(rotate_halves, tensors.torch, x, cos, sin)


def _cat(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    dim = shapes.head_dim(width) or width
    cached = tensors.copies(count, 1, width // dim, tokens - 1, dim)
    new = tensors.copies(count, 1, width // dim, 1, dim)
    for old_block, token in zip(cached, new, strict=True):
        yield partial(tensors.torch.cat, (old_block, token), -2)


def _embedding(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    """One table for all copies, a row for each of their tokens: larger than the cache, like a vocabulary."""
    table = tensors.normal(count * tokens, width)
    source = tensors.torch.Generator(tensors.device).manual_seed(0)
    order = tensors.torch.randperm(count * tokens, generator=source, device=tensors.device)
    for ids in order.view(count, tokens).unbind(0):
        yield partial(tensors.torch.nn.functional.embedding, ids, table)


def _causal_conv1d(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    taps = tensors.copies(count, width, 1, CONV_WIDTH)
    for rows, own in zip(tensors.copies(count, tokens, width), taps, strict=True):
        yield partial(causal_conv1d, tensors.torch, rows, own)


def _causal_conv1d_update(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    taps = tensors.copies(count, width, 1, CONV_WIDTH)
    states = tensors.copies(count, tokens, width, CONV_WIDTH)
    for rows, state, own in zip(tensors.copies(count, tokens, width, 1), states, taps, strict=True):
        yield partial(causal_conv1d_update, tensors.torch, rows, state, own)


def _gated_norm(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    dim = shapes.head_dim(width)
    heads = tokens * (width // dim)
    weights = tensors.copies(count, dim)
    rows, gates = (tensors.copies(count, heads, dim) for _ in range(2))
    for operands in zip(rows, gates, weights, strict=True):
        yield partial(gated_norm, tensors.torch, *operands)


def _delta_gates(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    log_a, bias = tensors.copies(2, width // 2)
    for rows in tensors.copies(count, tokens, width):
        yield partial(delta_gates, tensors.torch, rows, log_a, bias)


def _one_gate(tensors: Tensors, count: int, tokens: int, width: int) -> Calls:
    gates, rows = tensors.copies(count, tokens, 1), tensors.copies(count, tokens, width)
    for gate, row in zip(gates, rows, strict=True):
        yield partial(sigmoid_mul, tensors.torch, gate, row)


SHAPED: dict[str, Callable[[Tensors, int, int, int], Calls]] = {
    "rope": _rope,
    "cat": _cat,
    "embedding": _embedding,
    "causal_conv1d": _causal_conv1d,
    "causal_conv1d_update": _causal_conv1d_update,
    "gated_norm": _gated_norm,
    "delta_gates": _delta_gates,
}


def supports(
    *, num_tokens: int, op: str, input_bytes_per_token: int, output_bytes_per_token: int, dtype: Dtype
) -> str:
    """Whether the sizes make sense for the op."""
    del num_tokens
    return shapes.refusal(op, input_bytes_per_token, output_bytes_per_token, dtype)


BACKEND = Backend(
    name="torch",
    kind="elementwise",
    devices=("cpu", "cuda"),
    compute_dtypes=("fp32", "bf16", "fp16"),
    prepare=prepare,
    requires=("torch",),
    supports=supports,
)
