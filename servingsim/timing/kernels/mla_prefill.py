"""`mla_prefill`: the attention core of latent attention for new tokens, keys and values expanded for every head.

The product that expands the latent (kv_b) and the projections around it are kernels of their own.
"""

from __future__ import annotations

from pydantic import Field

from servingsim.timing.attention_domain import prefill_fits
from servingsim.timing.contract import Coords, KernelInput, KernelKind
from servingsim.timing.fields import Context, Prefix, Requests, Tokens
from servingsim.timing.grid import batch_sizes, prefix_lengths, query_lengths
from servingsim.timing.latent_heads import LATENT_ARGS, LatentHeadsConfig
from servingsim.timing.relatives import Relatives
from servingsim.timing.work.mla_prefill import work


class MlaPrefillConfig(LatentHeadsConfig):
    """The heads of one rank, and the domain that the grid covers."""

    max_num_tokens: Tokens = Field(16384, description="new tokens of an iteration: bounds batch_size * q_len")
    max_batch_size: Requests = Field(512, description="requests of an iteration")
    max_kv_len: Context = Field(131072, description="tokens of the longest request")


class MlaPrefillInput(KernelInput):
    """One call over requests of equal shape."""

    batch_size: Requests = Field(description="requests")
    q_len: Tokens = Field(description="new tokens of each request")
    prefix_len: Prefix = Field(0, description="cached tokens of each request; 0 for a fresh prefill")


def _grid(config: MlaPrefillConfig) -> tuple[tuple[int, ...], ...]:
    return (
        batch_sizes(config.max_batch_size, factor=4),
        query_lengths(min(config.max_num_tokens, config.max_kv_len)),
        prefix_lengths(config.max_kv_len),
    )


def _feasible(config: MlaPrefillConfig, coords: Coords) -> bool:
    return prefill_fits(coords, config.max_num_tokens, config.max_kv_len)


KERNEL = KernelKind(
    kind="mla_prefill",
    config=MlaPrefillConfig,
    input=MlaPrefillInput,
    axes=("batch_size", "q_len", "prefix_len"),
    args=("batch_size", "q_len", "prefix_len", *LATENT_ARGS),
    sweep_grid=_grid,
    work_model=work,
    cache="work_nd",
    relatives=Relatives.scaled(("num_heads",), "batch_size"),
    feasible=_feasible,
)
