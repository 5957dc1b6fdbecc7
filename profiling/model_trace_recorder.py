"""Listening to a model's forward: every aten operation with its module, its line and its work.

Imported in the trace worker only. Attention is kept whole, as the one operation that the modelling code calls;
regions that `model_trace_regions` keeps whole report themselves.
"""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

from profiling.model_trace import TracedOp
from profiling.model_trace_work import NONE, Work, work_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PACKAGE = str(Path(transformers.__file__).parent)
LAYERS = r"(?:.*\.)?layers"
OWN_CODE = ("models/", "cache_utils.py", "masking_utils.py", "activations.py")
"""Where the math is written; the other files of the package hand it on."""
Frame = tuple[str, str]


class Recorder:
    """Collects the operations of a model's forwards.

    Args:
        model: On the meta device.
        windows: Of each layer, 0 where attention sees everything; for attention that no region keeps whole.
        layers: Path of the list of layers, a regular expression.
    """

    def __init__(self, model: Any, windows: tuple[int, ...] = (), layers: str = LAYERS) -> None:  # noqa: ANN401 - a transformers model
        self.ops: list[TracedOp] = []
        self.entered: set[str] = set()
        self.muted = True
        self._windows, self._path, self._phase = windows, [""], ""
        self._layer = re.compile(rf"^{layers}\.(\d+)(?:\.(.*))?$")
        for name, module in model.named_modules():
            module.register_forward_pre_hook(self._enter(name))
            module.register_forward_hook(self._leave)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record what runs inside under a phase's name."""
        self._phase, self.muted = name, False
        try:
            with _Listener(self):
                yield
        finally:
            self.muted = True

    @contextlib.contextmanager
    def mute(self) -> Iterator[None]:
        """Let what runs inside go by: a region stands for it."""
        before, self.muted = self.muted, True
        try:
            yield
        finally:
            self.muted = before

    @contextlib.contextmanager
    def aside(self) -> Iterator[list[TracedOp]]:
        """Collect what runs inside apart: a region stands for it."""
        before, self.ops = self.ops, []
        try:
            yield self.ops
        finally:
            self.ops = before

    def record(self, func: Any, args: tuple[Any, ...], inputs: list[Any], output: Any) -> None:  # noqa: ANN401 - torch's
        """One operation that just ran."""
        name = str(func).split(".")[1]
        outputs = tensors(output)
        first = next(iter(outputs), None)
        shares = not func._schema.is_mutable and any(  # noqa: SLF001 - no public question for it
            _same_memory(first, each) for each in inputs if first is not None
        )
        work = NONE if shares else self._work(name, args, inputs, outputs)
        self.add(f"{str(func).split('.')[0]}.{name}", inputs, outputs, work, view=shares)

    def add(
        self, name: str, inputs: list[Any], outputs: list[Any], work: Work, *, view: bool = False
    ) -> None:
        """An operation, or a region that stands for several."""
        found = self._layer.match(self._path[-1])
        layer, module = (int(found[1]), found[2] or "") if found else (-1, self._path[-1])
        anchor, function = _source()
        first = next(iter(outputs), None)
        self.ops.append(
            TracedOp(
                phase=self._phase,
                layer=layer,
                module=module,
                aten=name,
                function=function,
                anchor=anchor,
                inputs=tuple(tuple(each.shape) for each in inputs),
                output=tuple(first.shape) if first is not None else (),
                dtype=str(first.dtype).removeprefix("torch.") if first is not None else "",
                flops=work.flops,
                bytes_moved=work.bytes_moved,
                view=view,
                detail=work.detail,
            )
        )

    def _work(self, name: str, args: tuple[Any, ...], inputs: list[Any], outputs: list[Any]) -> Work:
        work, found = work_of(name, args, inputs, outputs), self._layer.match(self._path[-1])
        if name != "scaled_dot_product_attention" or not self._windows or not found:
            return work
        batch, heads, q_len, head_dim = inputs[0].shape
        window = self._windows[int(found[1])] if int(found[1]) < len(self._windows) else 0
        pairs = _pairs(q_len, inputs[1].shape[2], window)
        return Work(int(4 * batch * heads * head_dim * pairs), work.bytes_moved)

    def _enter(self, name: str) -> Any:  # noqa: ANN401 - a hook
        def hook(_module: Any, _args: Any) -> None:  # noqa: ANN401 - torch's signature
            self._path.append(name)
            self.entered.add(name)

        return hook

    def _leave(self, _module: Any, _args: Any, _output: Any) -> None:  # noqa: ANN401 - torch's signature
        self._path.pop()


class _Listener(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401 - torch's
        output = func(*args, **(kwargs or {}))
        if not self._recorder.muted:
            self._recorder.record(func, args, tensors([*args, *(kwargs or {}).values()]), output)
        return output


def tensors(value: Any) -> list[Any]:  # noqa: ANN401 - nested arguments or results
    """The tensors in nested arguments or results, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in tensors(part)]
    return []


def _source() -> Frame:
    """The innermost line of the package that writes the math, and the innermost function of the package."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - the only way to see the caller's frames
    function = ""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            function = function or code.co_name
            name = code.co_filename[len(PACKAGE) + 1 :]
            if name.startswith(OWN_CODE):
                return f"{name}:{frame.f_lineno}", function
        frame = frame.f_back
    return "", function


def _same_memory(one: Any, other: Any) -> bool:  # noqa: ANN401 - tensors
    return bool(torch._C._is_alias_of(one, other)) or one is other  # noqa: SLF001 - no public question for it


def _pairs(queries: int, keys: int, window: int) -> int:
    """Pairs of a query and a key that causality and the window let it see; the queries are the last ones."""
    seen = range(keys - queries + 1, keys + 1)
    return sum(min(each, window) for each in seen) if window else sum(seen)
