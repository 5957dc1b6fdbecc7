"""Regions that stay whole: what Transformers hands to exchangeable kernels is recorded as one operation each.

It does so at three places: the attention functions, the experts functions, and functions that a kernel from the
hub may replace (delta rules, scans, causal convolutions). Each is taken over before any modelling file is imported.
Inside a region nothing is recorded: its reference code in Python loops over chunks or tokens, which no stack does.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch
from torch.fx.experimental import _config as config
from transformers import masking_utils
from transformers.integrations import hub_kernels
from transformers.integrations.moe import ExpertsInterface
from transformers.modeling_utils import AttentionInterface

from profiling import model_trace_region_work as work
from profiling.model_trace_recorder import Recorder, tensors


class Regions:
    """The three places, and the recorder that their calls report to.

    Attributes:
        recorder: Of the forward that runs, None between forwards.
        context: Tokens that are cached before the forward.
    """

    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        self.context = 0
        self._known: dict[Any, Any] = {}

    def install(self) -> None:
        """Take the three places over, in this process and for good."""
        import transformers.integrations  # noqa: PLC0415 - a lazy module: the attribute is set on it

        self._interface(AttentionInterface, self._attention)
        self._interface(ExpertsInterface, self._experts)
        plain = hub_kernels.use_kernel_func_from_hub_with_fallback

        def marked(func_name: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - transformers' signature
            decorator = plain(func_name, *args, **kwargs)
            return lambda function: self.keep(func_name, function, decorator(function))

        hub_kernels.use_kernel_func_from_hub_with_fallback = marked
        setattr(transformers.integrations, plain.__name__, marked)
        masking_utils.fast_all = _no_padding
        masking_utils.find_packed_sequence_indices = _not_packed

    def plain_experts(self, model: Any, top_k: int) -> None:  # noqa: ANN401 - a transformers model
        """Keep experts whole whose modules Transformers does not dispatch.

        Args:
            model: Whose modules to take over.
            top_k: Experts of a token, where a call does not say it.
        """
        for module in model.modules():
            alone = not hasattr(module, "_is_expert_parallel")
            if alone and type(module).__name__.endswith("Experts") and work.stacked(module):
                module.forward = functools.partial(self._experts, _own_forward, module, top_k=top_k)

    def _interface(self, interface: Any, region: Any) -> None:  # noqa: ANN401 - a transformers class
        plain = interface.get_interface

        def get_interface(own: Any, name: str, default: Any) -> Any:  # noqa: ANN401 - transformers' signature
            return functools.partial(region, plain(own, name, default))

        interface.get_interface = get_interface

    def _attention(self, function: Any, module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - transformers' signature
        recorder = self.recorder
        query, key, value = [*args, *(kwargs.get(name) for name in ("query", "key", "value")[len(args) :])][
            :3
        ]
        if recorder is None or query.dim() != work.HEADS_APART:
            return function(module, *args, **kwargs)
        with recorder.mute():
            output = query.new_empty((query.shape[0], query.shape[2], query.shape[1], value.shape[3]))
        if not recorder.muted:
            cost = work.attention(module, (query, key, value), kwargs, self.context)
            recorder.add("region.attention", [query, key, value], [output], cost)
        return output, None

    def _experts(
        self,
        function: Any,  # noqa: ANN401 - transformers' signature, as below
        module: Any,  # noqa: ANN401
        hidden: Any,  # noqa: ANN401
        *args: Any,  # noqa: ANN401
        top_k: int = 0,
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        recorder = self.recorder
        if recorder is None:
            return function(module, hidden, *args, **kwargs)
        with recorder.mute():
            output = torch.empty_like(hidden)
        if not recorder.muted:
            routed = tensors([*args, *kwargs.values()])
            picked = next((each.shape[-1] for each in routed if not each.is_floating_point()), 0)
            cost = work.experts(module, hidden, picked or top_k, every=not picked)
            recorder.add("region.experts", [hidden, *routed], [output], cost)
        return output

    def keep(self, name: str, function: Any, decorated: Any) -> Any:  # noqa: ANN401 - functions
        """A function that is recorded whole.

        Args:
            name: On the hub, or of its region.
            function: Whose parameters name its arguments.
            decorated: What runs.
        """
        signature = inspect.signature(function)

        @functools.wraps(function)
        def region(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any kernel's
            recorder = self.recorder
            if recorder is None:
                return decorated(*args, **kwargs)
            output, inside = self._result(decorated, args, kwargs)
            results = tensors(output)
            if results and not recorder.muted:
                said = {key: value for key, value in kwargs.items() if key in signature.parameters}
                named = signature.bind_partial(*args, **said).arguments
                operands = tensors([*args, *kwargs.values()])
                recorder.add(
                    work.region_name(name),
                    operands,
                    results,
                    work.hub(name, named, operands, results, inside),
                )
            return output

        kept: Any = region
        kept.region = work.region_name(name)
        return kept

    def _result(self, function: Any, args: Any, kwargs: Any) -> tuple[Any, int]:  # noqa: ANN401 - any kernel's
        """Its result's shapes and what its reference code computes, found once: later layers need no loop."""
        recorder = self.recorder
        if recorder is None:
            return function(*args, **kwargs), 0
        key = (function, recorder.muted, _shapes(args), _shapes(sorted(kwargs.items())))
        if key not in self._known:
            with recorder.aside() as ops, config.patch(meta_nonzero_assume_all_nonzero=True):
                result = function(*args, **kwargs)
            self._known[key] = result, sum(op.flops for op in ops)
        result, inside = self._known[key]
        with recorder.mute():
            return _fresh(result), inside


@functools.cache
def regions() -> Regions:
    """Those of this process, in place before any modelling file is imported."""
    made = Regions()
    made.install()
    return made


def _own_forward(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any module's
    return type(module).forward(module, *args, **kwargs)


def _no_padding(_mask: Any) -> bool:  # noqa: ANN401 - a tensor
    """Every token of a trace is a real one; on the meta device its mask cannot be asked."""
    return True


def _not_packed(_position_ids: Any) -> None:  # noqa: ANN401 - a tensor
    """A row of a trace is one sequence."""


def _shapes(value: Any) -> Any:  # noqa: ANN401 - nested arguments
    if isinstance(value, torch.Tensor):
        return (tuple(value.shape), value.dtype)
    if isinstance(value, torch.nn.Module):
        return type(value)
    return tuple(map(_shapes, value)) if isinstance(value, (list, tuple)) else repr(value)


def _fresh(value: Any) -> Any:  # noqa: ANN401 - nested results
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value)
    return type(value)(map(_fresh, value)) if isinstance(value, (list, tuple)) else value
