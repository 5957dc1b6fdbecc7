"""What is deployed: pools of replicas, how each batches, and what an iteration costs beside its kernels."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from servingsim.archs.kv import BLOCK_TOKENS, DEFAULT_UTILISATION
from servingsim.timing.contract import Dtype
from servingsim.timing.coverage import OnMissing

MAX_REPLICAS = 64
MAX_STAGES = 16
MAX_BUDGET = 2**17
MAX_SEQS = 4096
MAX_MODEL_LEN = 2**20

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Host(_Strict):
    """Host time of one iteration, milliseconds. All 0 means that it is not modelled, and reports say so."""

    graph_ms: NotNegative = Field(
        0.0, description="Host time of a decode-only iteration replayed as a graph."
    )
    eager_ms: NotNegative = Field(0.0, description="Host time of any other iteration.")
    request_ms: NotNegative = Field(0.0, description="Host time for each request in an iteration.")
    graph_max_seqs: int = Field(512, ge=0, description="Largest decode batch that is replayed as a graph.")
    source: str = Field("given", max_length=200, description="Where the figures come from.")


class Scheduler(_Strict):
    """How a replica forms its iterations."""

    policy: Literal["vllm", "sglang", "sarathi", "prefill_first"] = Field(
        "vllm", description="vLLM V1, SGLang, Sarathi as Vidur has it, or plain prefill first."
    )
    max_num_tokens: int = Field(2048, ge=1, le=MAX_BUDGET, description="New tokens of an iteration.")
    max_num_seqs: int = Field(256, ge=1, le=MAX_SEQS, description="Requests that run at once.")
    max_model_len: int | None = Field(
        None, ge=2, le=MAX_MODEL_LEN, description="Longest request, prompt and output; default: the model's."
    )
    block_tokens: int = Field(BLOCK_TOKENS, ge=1, le=1024, description="Tokens of a KV block.")
    watermark: float = Field(
        0.0, ge=0, lt=1, description="Share of KV blocks that a first admission leaves free."
    )
    chunked_prefill: bool = Field(True, description="Whether a prompt may be cut to the token budget (vLLM).")
    prefix_caching: bool = Field(False, description="Whether KV blocks are reused by content.")
    long_prefill_tokens: int = Field(
        0, ge=0, description="Most new tokens of one prefill; 0: no limit of its own."
    )
    reserve_prompt: bool = Field(False, description="Admit only where the whole prompt fits (vLLM).")
    mixed_chunks: bool = Field(False, description="Decode beside prefill chunks (SGLang).")
    async_scheduling: bool = Field(
        False, description="Plan each iteration while the one before it runs (vLLM, its default since 0.14)."
    )
    draft_tokens: int = Field(0, ge=0, le=16, description="Draft tokens of speculative decoding.")
    acceptance: float = Field(0.0, ge=0, le=1, description="Chance that a draft token is accepted.")

    @model_validator(mode="after")
    def _ahead_is_vllm(self) -> Self:
        if self.async_scheduling and self.policy != "vllm":
            raise ValueError(
                f"async_scheduling is vLLM's; policy {self.policy!r} plans when an iteration has ended"
            )
        return self


class Pool(_Strict):
    """Replicas that are alike."""

    name: str = Field("replicas", min_length=1, max_length=40, description="What reports call it.")
    device: str = Field(description="Device key of the store.")
    replicas: int = Field(1, ge=1, le=MAX_REPLICAS, description="Copies of the model.")
    tp: Count = Field(1, description="Tensor-parallel ranks of a replica.")
    pp: int = Field(1, ge=1, le=MAX_STAGES, description="Pipeline stages of a replica.")
    ep: Count = Field(1, description="Ranks that share the experts.")
    stack_version: str | None = Field(None, description="Version of the stack whose imported rows are used.")
    kv_dtype: Dtype | None = Field(None, description="Of the KV cache; default: the model's.")
    kv_blocks: Count | None = Field(
        None, description="KV blocks of a replica; default: what its memory holds."
    )
    utilisation: float = Field(
        DEFAULT_UTILISATION, gt=0, le=1, description="Share of the memory that is used."
    )
    scheduler: Scheduler = Field(default_factory=Scheduler, description="How iterations are formed.")
    host: Host = Field(default_factory=lambda: Host(source="not modelled"), description="Beside the kernels.")
    router: Literal["round_robin", "least_outstanding", "least_kv", "prefix_affine"] = Field(
        "round_robin", description="Which replica gets a request that enters the pool."
    )
    usd_per_hour: NotNegative | None = Field(
        None, description="Price of one device, for the cheapest deployment."
    )

    @property
    def sharers(self) -> int:
        """Replicas whose experts lie together: more ranks share the experts than hold the same tokens."""
        return max(self.ep // self.tp, 1)

    @property
    def peers(self) -> int:
        """Replicas that begin and end their iterations together, since they wait for each other's tokens.

        1 where the pool is no whole number of such groups or has pipeline stages: then each replica is taken to have
        peers with batches like its own.
        """
        whole = self.pp == 1 and self.replicas % self.sharers == 0
        return self.sharers if whole else 1

    @model_validator(mode="after")
    def _ahead_has_one_stage(self) -> Self:
        if self.scheduler.async_scheduling and self.pp > 1:
            raise ValueError(
                f"async_scheduling with pp {self.pp}: a pipeline has iterations under way already"
            )
        return self


class Link(_Strict):
    """Between a prefill and a decode pool, for each prefill replica."""

    gb_per_s: Positive = Field(50.0, description="Gigabytes (10^9) a second.")
    latency_ms: NotNegative = Field(0.5, description="To begin a transfer.")


class Deployment(_Strict):
    """A model served by one pool, or prefilled by one and decoded by another."""

    model: str = Field(description="A config.json, its folder, or a bundled name.")
    stack: str = Field("vllm", description="Serving stack whose kernels run.")
    dtype: Dtype | None = Field(None, description="In place of the config's.")
    on_missing: OnMissing = Field("estimate-all", description="What a kernel does where no row answers.")
    pools: tuple[Pool, ...] = Field(
        min_length=1, max_length=2, description="One pool; or the prefill pool and the decode pool."
    )
    link: Link = Field(default_factory=Link, description="Between two pools.")

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode have pools of their own."""
        return len(self.pools) > 1

    @property
    def num_devices(self) -> int:
        """Devices of all pools."""
        return sum(pool.replicas * pool.tp * pool.pp for pool in self.pools)

    @model_validator(mode="after")
    def _pools_differ(self) -> Self:
        names = [pool.name for pool in self.pools]
        if len(set(names)) < len(names):
            raise ValueError(f"two pools are called {names[0]!r}; reports tell them apart by name")
        return self
