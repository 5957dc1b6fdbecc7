"""Any Hugging Face decoder config to facts: layer classes, parameters, KV cache and state."""

from servingsim.archs.explore.capacity import Capacity, capacity
from servingsim.archs.explore.parameters import ParameterCount, parameters
from servingsim.archs.explore.read import model_facts, read_model
from servingsim.archs.explore.state import (
    ClassState,
    RequestState,
    class_states,
    kv_bytes_per_token,
    request_state_bytes,
)
from servingsim.archs.explore.weights import weight_bytes, weight_dtype

__all__ = [
    "Capacity",
    "ClassState",
    "ParameterCount",
    "RequestState",
    "capacity",
    "class_states",
    "kv_bytes_per_token",
    "model_facts",
    "parameters",
    "read_model",
    "request_state_bytes",
    "weight_bytes",
    "weight_dtype",
]
