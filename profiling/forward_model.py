"""A real Transformers model with random weights, its steps timed. Runs in a worker process only.

The weights are a repeated random block: timing depends on their bytes and places, not on their values, as
long as none is denormal or not finite.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from profiling.forward_cache import context_cache
from profiling.forward_routing import Routed
from profiling.forward_spans import Span, Spans
from profiling.timers import contention
from profiling.timers.samples import Sample
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from profiling.forward_case import ForwardCase

BLOCK_ELEMENTS = 1 << 20
WEIGHT_RANGE = 0.02
UNCOUNTED_STEPS = 3
"""Decode steps before the counted ones: memory settles as the cache grows."""
TorchDtype = Literal["bf16", "fp16", "fp32"]


@dataclass(frozen=True)
class DividedStep:
    """Steps with spans.

    Attributes:
        samples: Each step as a whole.
        spans: Own time by label, of all steps together.
        active_experts: Experts that a step's tokens went to, mean over layers and steps; 0 without experts.
    """

    samples: list[Sample]
    spans: dict[str, Span]
    active_experts: float


class ForwardModel:
    """A causal language model of a config, in evaluation mode, on the CPU or the current CUDA device."""

    def __init__(self, config: dict[str, Any], dtype: TorchDtype, device: Literal["cpu", "cuda"]) -> None:
        import torch  # noqa: PLC0415 - only ever in a worker process
        from transformers import AutoConfig, AutoModelForCausalLM  # noqa: PLC0415
        from transformers.initialization import no_init_weights  # noqa: PLC0415

        self._torch = torch
        self._dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]
        self._device = device
        try:
            self._config = AutoConfig.for_model(**config)
        except (ValueError, KeyError, TypeError) as error:
            raise ServingSimError(
                f"transformers cannot build model_type {config.get('model_type')!r}: {error}",
                code="E_TOOLCHAIN",
            ) from error
        with no_init_weights():
            self._model = AutoModelForCausalLM.from_config(self._config, dtype=self._dtype)
        self._model.tie_weights()
        self._fill()
        self._model.to(device).eval()

    def run(self, case: ForwardCase, samples: int) -> list[Sample]:
        """Time `samples` forwards of a case after some that are not counted.

        Prefills start from an empty cache each. Decode steps follow one another on one cache, as in
        generation, so that memory is reused as it is there; they are centred on the case's context. Only the
        position that is sampled goes through the output head.
        """
        uncounted = UNCOUNTED_STEPS if case.q_len == 1 else 1
        with self._torch.inference_mode(), contention.watch() as waited_ns:
            times = [
                self._step(ids, cache, waited_ns) for ids, cache in self._steps(case, samples + uncounted)
            ]
        return times[uncounted:]

    def divide(self, case: ForwardCase, samples: int) -> DividedStep:
        """As `run`, with every module and named function timed: where the time of a step goes.

        The experts that tokens went to are counted on the way: routing is a fact of the run, like its lengths.
        """
        spans, routed = Spans(self._model), Routed()
        uncounted = 1
        with (
            self._torch.inference_mode(),
            contention.watch() as waited_ns,
            spans.open(),
            routed.open(self._model),
        ):
            times: list[Sample] = []
            for ids, cache in list(self._steps(case, samples + uncounted)):  # caches first: they are no step
                if len(times) == uncounted:
                    spans.clear()
                    routed.clear()
                times.append(self._step(ids, cache, waited_ns))
        return DividedStep(times[uncounted:], spans.read(), routed.active_experts())

    def _steps(self, case: ForwardCase, steps: int) -> Iterator[tuple[Any, Any]]:
        """Token ids and cache of each of so many steps."""
        ids = self._torch.randint(0, 1000, (case.batch_size, case.q_len), device=self._device)
        one_after_another = case.q_len == 1 and case.context_len > 0
        cache = self._cache(case, max(case.context_len - steps // 2, 1)) if one_after_another else None
        for _ in range(steps):
            yield ids, cache if one_after_another else self._cache(case, case.context_len)

    def _step(self, ids: Any, cache: Any, waited_ns: Callable[[], int]) -> Sample:  # noqa: ANN401 - torch's
        before = cache.get_seq_length()
        self._synchronize()
        waited_before_ns, begin_ns = waited_ns(), time.perf_counter_ns()
        self._call(ids, cache)
        self._synchronize()
        spent_ns = time.perf_counter_ns() - begin_ns
        if cache.get_seq_length() != before + ids.shape[1]:
            raise ServingSimError(
                f"the forward left {cache.get_seq_length()} tokens in its cache instead of "
                f"{before + ids.shape[1]}: "
                "this version of transformers names the cache otherwise",
                code="E_TOOLCHAIN",
            )
        return Sample(spent_ns / 1e6, contention.is_clean(waited_ns() - waited_before_ns, spent_ns))

    def _call(self, ids: Any, cache: Any) -> Any:  # noqa: ANN401 - torch's
        return self._model(input_ids=ids.to(self._device), cache=cache, use_cache=True, logits_to_keep=1)

    def _cache(self, case: ForwardCase, context_len: int) -> Any:  # noqa: ANN401 - a transformers cache
        return context_cache(self._torch, self._config, case, context_len, self._call)

    def _fill(self) -> None:
        torch = self._torch
        block = ((torch.rand(BLOCK_ELEMENTS) - 0.5) * 2 * WEIGHT_RANGE).to(self._dtype)
        with torch.inference_mode():
            for parameter in self._model.parameters():
                flat = parameter.view(-1)
                if parameter.dim() == 1:
                    flat.fill_(1.0)
                    continue
                whole = flat.numel() // BLOCK_ELEMENTS * BLOCK_ELEMENTS
                flat[:whole].view(-1, BLOCK_ELEMENTS).copy_(block.expand(whole // BLOCK_ELEMENTS, -1))
                flat[whole:].copy_(block[: flat.numel() - whole])

    def _synchronize(self) -> None:
        if self._device == "cuda":
            self._torch.cuda.synchronize()
