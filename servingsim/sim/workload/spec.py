"""What traffic a user asks for: a file, or lengths, arrivals and shared prefixes drawn from distributions."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from servingsim.sim.workload.rows import MAX_KEYS, MAX_LENGTH, MAX_REQUESTS

Tokens = Annotated[int, Field(ge=1, le=MAX_LENGTH)]

DEFAULT_REQUESTS = 1000
MIN_RATE, MAX_RATE = 1e-6, 1e6
"""One request in twelve days; one a microsecond."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Lengths(_Strict):
    """Tokens of prompts or outputs."""

    kind: Literal["fixed", "uniform", "lognormal"] = Field("fixed", description="Distribution.")
    mean: Tokens = Field(description="Mean tokens; of `uniform` the middle of the range.")
    spread: float = Field(
        0.5,
        ge=0,
        le=4,
        description="`uniform`: half the range over the mean; `lognormal`: sigma of the logarithm.",
    )
    least: Tokens = Field(1, description="Shorter ones are set to this.")
    most: Tokens = Field(131072, description="Longer ones are set to this.")

    @model_validator(mode="after")
    def _mean_within(self) -> Self:
        if not self.least <= self.mean <= self.most:
            raise ValueError(f"mean {self.mean} lies outside least {self.least} to most {self.most}")
        return self


class Arrivals(_Strict):
    """When requests come."""

    kind: Literal["poisson", "gamma", "constant", "burst", "closed"] | None = Field(
        None,
        description="Default: a file's own arrivals, else `poisson`. `gamma`: gaps with a coefficient of variation; "
        "`burst`: `size` at once; `closed`: `size` users, each sending its next request when its last one is done.",
    )
    rate_per_s: float | None = Field(
        None,
        ge=MIN_RATE,
        le=MAX_RATE,
        description="Mean requests a second; not with `closed`. A file's own arrivals are stretched to it.",
    )
    cv: float = Field(1.0, ge=0.01, le=100, description="`gamma`: standard deviation of a gap over its mean.")
    size: int = Field(1, ge=1, le=1_000_000, description="`burst`: requests of each burst; `closed`: users.")

    @model_validator(mode="after")
    def _rate_where_it_is_one(self) -> Self:
        if self.kind == "closed" and self.rate_per_s is not None:
            raise ValueError("a closed loop has users (size), not a rate")
        if self.kind in {"poisson", "gamma", "constant"} and self.rate_per_s is None:
            raise ValueError(f"{self.kind} arrivals need rate_per_s")
        return self


class Prefixes(_Strict):
    """Beginnings of prompts that requests share, some more often than others."""

    tokens: Tokens = Field(
        description="Shared tokens at the beginning; a shorter prompt is shared as far as it goes."
    )
    groups: int = Field(1, ge=1, le=10_000_000, description="Different beginnings.")
    zipf: float = Field(1.0, ge=0, le=10, description="Exponent of their popularity; 0: all alike.")
    key_tokens: int = Field(16, ge=1, le=4096, description="Tokens of one reusable piece; whole KV blocks.")

    @model_validator(mode="after")
    def _pieces(self) -> Self:
        if self.tokens < self.key_tokens:
            raise ValueError(
                f"{self.tokens} shared tokens are less than one reusable piece of {self.key_tokens}"
            )
        if (keys := self.tokens // self.key_tokens * self.groups) > MAX_KEYS:
            raise ValueError(
                f"{keys} pieces of shared beginnings; at most {MAX_KEYS}: fewer groups, or larger pieces"
            )
        return self


class WorkloadSpec(_Strict):
    """Traffic: a file, or distributions."""

    path: str | None = Field(None, description="A file of requests; its format is found by its content.")
    format: str = Field("", description="Name of the file's format, where its content would not tell.")
    requests: int | None = Field(
        None,
        ge=1,
        le=MAX_REQUESTS,
        description=f"Requests: of a file the first ones, else {DEFAULT_REQUESTS} drawn.",
    )
    prompt: Lengths | None = Field(None, description="Prompt lengths, where there is no file.")
    output: Lengths | None = Field(None, description="Output lengths, where there is no file.")
    arrivals: Arrivals = Field(
        default_factory=Arrivals,
        description="Arrivals; of a file they are its own, unless a kind is given.",
    )
    prefixes: Prefixes | None = Field(None, description="Shared beginnings, where there is no file.")
    seed: int = Field(0, ge=0, lt=2**32, description="Of everything that is drawn.")

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        drawn = self.prompt is not None and self.output is not None
        if self.path is None and not drawn:
            raise ValueError("give a file (path), or prompt and output lengths")
        if self.path is not None and (self.prompt or self.output or self.prefixes):
            raise ValueError("a file has its own lengths and prefixes: leave prompt, output and prefixes out")
        if self.path is None and self.arrivals.kind is None and self.arrivals.rate_per_s is None:
            raise ValueError(
                "requests that are drawn need arrivals.rate_per_s, or arrivals.kind burst or closed"
            )
        if self.path is None and self.format:
            raise ValueError(f"format {self.format!r} without a file (path)")
        return self
