"""Valid Configs and Inputs of every kernel kind for property tests, drawn from the models' own schemas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import reject
from hypothesis import strategies as st
from pydantic import ValidationError

from servingsim.timing.contract import KernelConfig, KernelInput, KernelKind

Kind = KernelKind[Any, Any]
DrawConfig = Callable[[st.DataObject, Kind], KernelConfig]
DrawInput = Callable[[st.DataObject, Kind], KernelInput]

DIVIDES = (
    ("num_kv_heads", "num_heads"),
    ("num_groups", "num_heads"),
    ("num_k_heads", "num_v_heads"),
    ("moe_ep_size", "num_experts"),
    ("moe_tp_size", "inter_size"),
)
"""Fields of which the first has to divide the second."""


def _sizes(minimum: int, maximum: int) -> st.SearchStrategy[int]:
    """Whole numbers spread evenly over the octaves, their ends included."""
    octaves = st.floats(math.log2(minimum + 1), math.log2(maximum + 1))
    spread = octaves.map(lambda octave: min(max(round(2**octave) - 1, minimum), maximum))
    return spread | st.sampled_from([minimum, maximum])


def _field(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "integer":
        return _sizes(schema["minimum"], schema["maximum"])
    return st.sampled_from(["balanced", "power_law_1.2"])


def _fields(data: st.DataObject, model: type[KernelConfig | KernelInput]) -> dict[str, Any]:
    properties = model.model_json_schema()["properties"]
    drawn = [name for name in properties if name not in {"gpu_name", "backends"}]
    return {name: data.draw(_field(properties[name]), label=name) for name in drawn}


def _made_to_fit(values: dict[str, Any]) -> None:
    """Products, multiples and sums that a free draw would rarely meet."""
    if "max_kv_tokens" in values:
        values["max_kv_tokens"] = max(values[n] for n in ("max_kv_tokens", "max_kv_len", "max_batch_size"))
    if "max_message_bytes" in values:
        values["max_message_bytes"] = max(4, values["max_message_bytes"] // 4 * 4)
    if "topk" in values:
        values["topk"] = min(values["topk"], values["num_experts"])
    if {"num_ranks", "num_experts"} <= set(values):
        values["num_experts"] += values["num_experts"] % 2
        values["num_ranks"] = 2 * math.gcd(values["num_experts"] // 2, values["num_ranks"])
    for part, whole in DIVIDES:
        if {part, whole} <= set(values):
            values[part] = math.gcd(values[part], values[whole])


@pytest.fixture(scope="session")
def draw_config() -> DrawConfig:
    """A function that draws any valid Config of a kind."""

    def draw(data: st.DataObject, kind: Kind) -> KernelConfig:
        values = _fields(data, kind.config)
        _made_to_fit(values)
        try:
            config: KernelConfig = kind.config(gpu_name="a device", **values)
        except ValidationError:
            reject()  # A weight that no device holds.
        return config

    return draw


@pytest.fixture(scope="session")
def draw_input() -> DrawInput:
    """A function that draws any valid Input of a kind."""

    def draw(data: st.DataObject, kind: Kind) -> KernelInput:
        values = _fields(data, kind.input)
        if "total_kv_len" in values:
            values["total_kv_len"] = max(values["total_kv_len"], values["batch_size"])
        if "num_decodes" in values:  # what is absent has no length
            values["num_decodes"] += not (values["q_len"] or values["num_decodes"])
            values["prefix_len"] *= values["q_len"] > 0
            values["kv_len"] = max(values["kv_len"], 1) if values["num_decodes"] else 0
        call: KernelInput = kind.input(**values)
        return call

    return draw
