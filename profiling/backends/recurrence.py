"""Gated recurrences over tokens, by chunks and by single steps: the delta rule, and without it Mamba-2.

A state S [key, value] a head. Each token decays it, adds the outer product of its key and its value, and its query
reads it. With the delta rule the value is first lessened by what S already holds for the key, and scaled by beta. By
chunks of tokens the same is matrix products: within a chunk a lower triangle, between chunks one state.

Shapes: queries and keys [batch, tokens, key heads, key], values [batch, tokens, heads, value], log decays and betas
[batch, tokens, heads] in fp32, states [batch, heads, key, value] in fp32. Results have the dtype of the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor

CHUNK = 64
"""Tokens of a chunk, as public implementations choose it: products within grow with it, steps between shrink."""


def by_chunks(
    torch: ModuleType,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_decay: Tensor,
    state: Tensor,
    beta: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Results [batch, tokens, heads, value] and the states after the last token.

    Args:
        torch: The module.
        query: See the module.
        key: As queries.
        value: See the module.
        log_decay: Natural logarithms, none above zero.
        state: Before the first token.
        beta: Step widths of the delta rule; None: values are added as they are.
    """
    tokens, heads, dtype = value.shape[1], value.shape[2], value.dtype
    q, k = (_in_chunks(torch, _for_heads(x, heads)) for x in (query, key))
    v, decay = _in_chunks(torch, value), _in_chunks(torch, log_decay.unsqueeze(-1)).squeeze(-1)
    since_start = decay.cumsum(-1)
    between = (since_start.unsqueeze(-1) - since_start.unsqueeze(-2)).tril().exp().tril()
    from_start = since_start.exp().unsqueeze(-1)
    to_end = (since_start[..., -1:] - since_start).exp().unsqueeze(-1)
    taken = None
    if beta is not None:
        step = _in_chunks(torch, beta.unsqueeze(-1))
        v, taken = _solved(torch, k, step, v, between, from_start)
    scores, reads, writes = (q @ k.mT) * between, q * from_start, (k * to_end).mT
    results = torch.empty_like(v)
    for chunk in range(v.shape[2]):
        new = v[:, :, chunk] if taken is None else v[:, :, chunk] - taken[:, :, chunk] @ state
        results[:, :, chunk] = reads[:, :, chunk] @ state + scores[:, :, chunk] @ new
        state = state * from_start[:, :, chunk, -1:] + writes[:, :, chunk] @ new
    return results.flatten(2, 3)[:, :, :tokens].transpose(1, 2).to(dtype), state


def one_step(
    torch: ModuleType,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_decay: Tensor,
    state: Tensor,
    beta: Tensor | None = None,
) -> Tensor:
    """The result of one token a request; the states are changed in place, as a cache is.

    As `by_chunks`, with one token.
    """
    heads, dtype = value.shape[2], value.dtype
    q, k = (_for_heads(x, heads)[:, 0].float() for x in (query, key))
    new = value[:, 0].float()
    state.mul_(log_decay[:, 0].exp()[..., None, None])
    if beta is not None:
        new = (new - torch.einsum("bhkv,bhk->bhv", state, k)) * beta[:, 0].unsqueeze(-1)
    state.add_(k.unsqueeze(-1) * new.unsqueeze(-2))
    return torch.einsum("bhkv,bhk->bhv", state, q).unsqueeze(1).to(dtype)


def _solved(
    torch: ModuleType, k: Tensor, step: Tensor, v: Tensor, between: Tensor, from_start: Tensor
) -> tuple[Tensor, Tensor]:
    """What the tokens of a chunk write, without and per unit of the state before it.

    Each token's value is lessened by what those before it in the chunk wrote: a unit lower triangular system.
    """
    system = ((k * step) @ k.mT * between).tril(-1)
    system = system + torch.eye(system.shape[-1], device=k.device)
    both = torch.cat((v * step, k * step * from_start), dim=-1)
    solved = torch.linalg.solve_triangular(system, both, upper=False, unitriangular=True)
    written, taken = solved.split((v.shape[-1], k.shape[-1]), dim=-1)
    return written.contiguous(), taken


def _for_heads(x: Tensor, heads: int) -> Tensor:
    """Keys of a group for each of its heads."""
    return x if x.shape[2] == heads else x.repeat_interleave(heads // x.shape[2], dim=2)


def _in_chunks(torch: ModuleType, x: Tensor) -> Tensor:
    """[batch, tokens, heads, d] as fp32 [batch, heads, chunks, CHUNK, d]; tokens added to fill up are zeros."""
    wide = x.transpose(1, 2).float()
    missing = -wide.shape[2] % CHUNK
    padded = torch.nn.functional.pad(wide, (0, 0, 0, missing))
    return padded.reshape(*wide.shape[:2], -1, CHUNK, wide.shape[-1])
