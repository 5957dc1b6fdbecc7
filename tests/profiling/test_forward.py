"""The real model in its worker: what predictions are judged by must run what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.forward_case import ForwardCase
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from profiling.forward import Forward

pytest.importorskip("torch")
pytest.importorskip("transformers")

TINY: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1024,
    "max_position_embeddings": 256,
}


@pytest.fixture(scope="module")
def tiny() -> Iterator[Forward]:
    from profiling.forward import Forward  # noqa: PLC0415 - needs torch

    with Forward(TINY, threads=1, dtype="fp32") as forward:
        yield forward


@pytest.mark.parametrize(
    "case", [ForwardCase(1, 16, 0), ForwardCase(2, 1, 32), ForwardCase(1, 8, 24), ForwardCase(1, 1, 0)]
)
def test_a_step_is_timed_as_often_as_asked(tiny: Forward, case: ForwardCase) -> None:
    """A cache keyword that transformers swallows would time a prefill without its context: the worker refuses it."""
    timing = tiny.measure(case, 3)
    assert 1 <= timing.samples <= 3
    assert 0 < timing.p10_ms <= timing.median_ms <= timing.p90_ms


def test_more_tokens_take_longer(tiny: Forward) -> None:
    """Steps that never reach the model would all take the same."""
    short, long = (tiny.measure(ForwardCase(1, tokens, 0), 5).p10_ms for tokens in (1, 240))
    assert long > short


def test_the_versions_are_those_that_ran(tiny: Forward) -> None:
    from importlib.metadata import version  # noqa: PLC0415 - beside its use

    assert tiny.libraries["transformers"] == version("transformers")


def test_a_model_that_transformers_cannot_build_is_refused_with_the_reason() -> None:
    """The worker's traceback would be lost in its standard error."""
    from profiling.forward import Forward  # noqa: PLC0415 - needs torch

    with pytest.raises(ServingSimError, match="nonsense_model") as refusal:
        Forward({"model_type": "nonsense_model"}, threads=1, dtype="fp32")
    assert refusal.value.code == "E_TOOLCHAIN"


@pytest.mark.parametrize(
    ("case", "label"),
    [
        (ForwardCase(1, 128, 0), "prefill 128"),
        (ForwardCase(4, 128, 64), "prefill 128 after 64 x4"),
        (ForwardCase(8, 1, 512), "decode batch 8, context 512"),
        (ForwardCase(1, 1, 0), "prefill 1"),
    ],
)
def test_cases_are_named_as_people_say_them(case: ForwardCase, label: str) -> None:
    assert case.label == label
