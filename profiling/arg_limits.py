"""Upper limits of args, shared by the kinds: far above any real shape, low enough to catch a wrong unit."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Rows = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""Tokens or rows of one launch: kernels index rows with 32 bits."""
Width = Annotated[int, Field(ge=1, le=2**24)]
"""A feature dimension: sixteen million is 64 times the largest vocabulary in use."""
Length = Annotated[int, Field(ge=1, le=2**27)]
"""Tokens of one request: a hundred times the longest context in use."""
OptionalLength = Annotated[int, Field(ge=0, le=2**27)]
"""As `Length`, where 0 means none."""
Heads = Annotated[int, Field(ge=1, le=2**16)]
HeadDim = Annotated[int, Field(ge=1, le=2**14)]
Experts = Annotated[int, Field(ge=1, le=2**16)]
Ranks = Annotated[int, Field(ge=1, le=2**16)]
GroupRanks = Annotated[int, Field(ge=2, le=2**16)]
"""Ranks that exchange something: one alone communicates with nobody."""
Bytes = Annotated[int, Field(ge=1, le=2**44)]
"""A message or a row in bytes: 16 TiB."""
