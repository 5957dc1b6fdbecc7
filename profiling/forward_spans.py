"""Where the time of a real forward goes: every module and named function of it timed, each without what it calls.

Wrapping costs about half a microsecond a call, so a forward with spans is only used to divide the time of one without.
Runs in a worker process only.
"""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FUNCTIONS = (
    "apply_rotary_pos_emb",
    "causal_conv1d_fn",
    "causal_conv1d_update",
    "torch_chunk_gated_delta_rule",
    "torch_recurrent_gated_delta_rule",
    "create_causal_mask",
)
"""Functions of a modelling file that are a launch of the composition, or none of it."""
CACHE_UPDATE = "cache.update"
ATTENTION = "attention"
MODEL = "model"


@dataclass
class Span:
    """One module or function.

    Attributes:
        calls: How often it ran.
        own_ns: Nanoseconds in it, without those in spans that it called.
    """

    calls: int = 0
    own_ns: int = 0


class Spans:
    """Divides the time of what runs between `clear` and `read`.

    Args:
        model: A Transformers model.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - a torch module
        self._model = model
        self._found: dict[str, Span] = {}
        self._children_ns = [0]

    def clear(self) -> None:
        """Forget what was found."""
        self._found.clear()

    def read(self) -> dict[str, Span]:
        """Own time by label: the path of a module without the number of its layer, or a function's name."""
        return dict(self._found)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Have everything timed while it is open."""
        with ExitStack() as stack:
            for path, module in self._model.named_modules():
                label = ".".join(part for part in path.split(".") if not part.isdigit()) or MODEL
                stack.enter_context(_replaced(module, "forward", self._timed(label, module.forward)))
            for name, place, target in self._functions():
                stack.enter_context(_replaced(place, target, self._timed(name, getattr(place, target))))
            stack.enter_context(self._attention())
            yield

    @contextmanager
    def _attention(self) -> Iterator[None]:
        """The function that every layer's attention looks up."""
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: PLC0415

        kind = self._model.config._attn_implementation  # noqa: SLF001 - has no public name
        if kind not in ALL_ATTENTION_FUNCTIONS:
            yield
            return
        ALL_ATTENTION_FUNCTIONS[kind] = self._timed(ATTENTION, ALL_ATTENTION_FUNCTIONS[kind])
        try:
            yield
        finally:
            del ALL_ATTENTION_FUNCTIONS[kind]

    def _functions(self) -> Iterator[tuple[str, Any, str]]:
        from transformers.cache_utils import DynamicLayer  # noqa: PLC0415 - only ever in a worker process

        modelling = sys.modules[type(self._model).__module__]
        yield from ((name, modelling, name) for name in FUNCTIONS if hasattr(modelling, name))
        yield CACHE_UPDATE, DynamicLayer, "update"

    def _timed(self, label: str, call: Callable[..., Any]) -> Callable[..., Any]:
        children, clock = self._children_ns, time.perf_counter_ns

        @wraps(call)
        def timed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever it is given
            children.append(0)
            begin_ns = clock()
            try:
                return call(*args, **kwargs)
            finally:
                spent_ns = clock() - begin_ns
                inside_ns = children.pop()
                children[-1] += spent_ns
                span = self._found.setdefault(label, Span())
                span.calls += 1
                span.own_ns += spent_ns - inside_ns

        return timed


@contextmanager
def _replaced(place: Any, name: str, value: object) -> Iterator[None]:  # noqa: ANN401 - a module or a class
    """An attribute with another value for a while; one that only the class has is removed again."""
    own = vars(place).get(name)
    setattr(place, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(place, name)
        else:
            setattr(place, name, own)
