"""Listening to a model's forward: every aten operation with its module, its line and its work.

Imported in the trace worker only. Attention is kept whole, as the one operation that the modelling code calls.
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

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

PACKAGE = str(Path(transformers.__file__).parent)
LAYER = re.compile(r"^(?:.*\.)?layers\.(\d+)(?:\.(.*))?$")
OWN_CODE = ("models/", "cache_utils.py", "masking_utils.py", "activations.py")
"""Where the math is written; the other files of the package hand it on."""
Frame = tuple[str, str]


class Recorder:
    """Collects the operations of a model's forwards.

    Args:
        model: On the meta device.
        windows: Of each layer, 0 where attention sees everything.
    """

    def __init__(self, model: Any, windows: tuple[int, ...]) -> None:  # noqa: ANN401 - a transformers model
        self.ops: list[TracedOp] = []
        self._windows, self._path, self._phase = windows, [""], ""
        for name, module in model.named_modules():
            module.register_forward_pre_hook(self._enter(name))
            module.register_forward_hook(self._leave)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record what runs inside under a phase's name."""
        self._phase = name
        with _Listener(self):
            yield

    def record(self, func: Any, inputs: list[Any], output: Any) -> None:  # noqa: ANN401 - torch's
        """One operation that just ran."""
        layer, module = _place(self._path[-1])
        anchor, function = _source()
        first = next(iter(_tensors(output)), None)
        shares = first is not None and any(_same_memory(first, each) for each in inputs)
        self.ops.append(
            TracedOp(
                phase=self._phase,
                layer=layer,
                module=module,
                aten=str(func).rsplit(".", 1)[0],
                function=function,
                anchor=anchor,
                inputs=tuple(tuple(each.shape) for each in inputs),
                output=tuple(first.shape) if first is not None else (),
                dtype=str(first.dtype).removeprefix("torch.") if first is not None else "",
                flops=0 if shares else _flops(str(func), inputs, first, self._window(layer)),
                bytes_moved=0 if shares else _moved(str(func), inputs, _tensors(output)),
                view=shares,
            )
        )

    def _window(self, layer: int) -> int:
        return self._windows[layer] if 0 <= layer < len(self._windows) else 0

    def _enter(self, name: str) -> Any:  # noqa: ANN401 - a hook
        def hook(_module: Any, _args: Any) -> None:  # noqa: ANN401 - torch's signature
            self._path.append(name)

        return hook

    def _leave(self, _module: Any, _args: Any, _output: Any) -> None:  # noqa: ANN401 - torch's signature
        self._path.pop()


class _Listener(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401 - torch's
        output = func(*args, **(kwargs or {}))
        self._recorder.record(func, _tensors([*args, *(kwargs or {}).values()]), output)
        return output


def _place(path: str) -> tuple[int, str]:
    found = LAYER.match(path)
    return (int(found[1]), found[2] or "") if found else (-1, path)


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


def _tensors(value: Any) -> list[Any]:  # noqa: ANN401 - nested results
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in _tensors(part)]
    return []


def _same_memory(one: Any, other: Any) -> bool:  # noqa: ANN401 - tensors
    return bool(torch._C._is_alias_of(one, other)) or one is other  # noqa: SLF001 - no public question for it


def _moved(name: str, inputs: list[Any], outputs: list[Any]) -> int:
    """Bytes of all operands; a lookup reads its rows only, not the table."""
    read = [inputs[1], *outputs] if name.startswith("aten.embedding") else inputs
    return sum(each.numel() * each.element_size() for each in [*read, *outputs])


def _flops(name: str, inputs: list[Any], output: Any, window: int) -> int:  # noqa: ANN401 - tensors
    """Exact for matrix products and attention, which decide; one a result for the rest, none for copies."""
    if output is None:
        return 0
    if "scaled_dot_product" in name:
        batch, heads, q_len, head_dim = inputs[0].shape
        return int(4 * batch * heads * head_dim * _pairs(q_len, inputs[1].shape[2], window))
    if name.startswith(("aten.linear", "aten.mm", "aten.addmm", "aten.bmm", "aten.matmul")):
        return int(2 * output.numel() * inputs[0].shape[-1])
    copies = ("aten.cat", "aten.to", "aten.copy", "aten.clone", "aten.contiguous", "aten.embedding")
    return 0 if name.startswith(copies) else int(output.numel())


def _pairs(queries: int, keys: int, window: int) -> int:
    """Pairs of a query and a key that causality and the window let it see; the queries are the last ones."""
    seen = range(keys - queries + 1, keys + 1)
    return sum(min(each, window) for each in seen) if window else sum(seen)
