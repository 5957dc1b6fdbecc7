"""In which order kernels are timed beside a model. No model is run here."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from benchmarks.accuracy.forward import CASES, MODELS
from profiling.contract import Setting
from profiling.forward_case import ForwardCase
from profiling.forward_kernels import HeldKernels, copies_bytes
from profiling.forward_walks import Stop, WalkedKernel, Walks
from server.forward.trial import Trial

DEVICE = "Test CPU [1 threads]"
MIB = 2**20


def _walks(name: str, *cases: ForwardCase) -> Walks:
    return Trial.of(name, MODELS[name], DEVICE, cases).walks([4.0] * len(cases))


def _named(kernel: WalkedKernel) -> str:
    """Short for people: what of a kernel its place in a layer is known by."""
    args = kernel.args
    return str(args.get("op") or (f"{args['n']}x{args['k']}" if "n" in args else kernel.kind))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_kernel_is_timed_in_one_walk(name: str) -> None:
    """Defect: a kernel without a sample, or one whose samples come from two places of two steps."""
    walks = _walks(name, *CASES)
    timed = [{stop.kernel for stop in order if stop.timed} for order in walks.orders]
    assert sorted(index for each in timed for index in each) == list(range(len(walks.kernels)))
    keys = {(each.kind, each.backend, *each.args.values()) for each in walks.kernels}
    assert len(keys) == len(walks.kernels)


def test_a_layer_is_walked_in_the_order_of_its_launches() -> None:
    """Defect: a norm is timed after the head's 50 MB, or after itself, and takes half or twice its time."""
    walks = _walks("dense", ForwardCase(1, 1, 384))
    layer, once = walks.orders[:2]
    config = MODELS["dense"]
    hidden, inner, vocabulary = (config[x] for x in ("hidden_size", "intermediate_size", "vocab_size"))
    assert [_named(walks.kernels[stop.kernel]) for stop in layer] == [
        "rms_norm",
        *(f"{n}x{hidden}" for n in (896, 128, 128)),
        "rope",
        "cat",
        "attention_decode",
        f"{hidden}x{896}",
        "add",
        "rms_norm",
        *(f"{inner}x{hidden}",) * 2,
        "silu",
        "mul",
        f"{hidden}x{inner}",
        "add",
    ]
    assert all(stop.timed for stop in layer)
    names = [(_named(walks.kernels[stop.kernel]), stop.timed) for stop in once]
    assert names[-2:] == [(f"{vocabulary}x{hidden}", True), ("embedding", True)]
    assert names[-4] == ("add", False)


def test_a_point_that_only_some_slots_have_is_walked_to() -> None:
    """Defect: the third KV length of an attention is timed in a loop by itself, its code and operands warm."""
    walks = _walks("dense", ForwardCase(1, 1, 384))
    names = [[(_named(walks.kernels[stop.kernel]), stop.timed) for stop in order] for order in walks.orders]
    others = [order for order in names if order[-1] == ("attention_decode", True)]
    assert len(others) >= 2
    for order in others:
        assert [name for name, _ in order[:5]] == ["rms_norm", "896x896", "128x896", "128x896", "rope"]
        assert not any(timed for name, timed in order if name not in {"attention_decode", "cat"})


def test_a_copy_comes_again_after_as_much_as_a_step_moves() -> None:
    """Defect: weights that a step brings from memory are timed out of the cache; or copies fill the machine."""
    kernel = WalkedKernel("single_gemm", "torch", {}, 2 * MIB, 10 * MIB, 50 * MIB)
    assert (
        copies_bytes(kernel, 32 * MIB, 100 * MIB) == 10 * MIB
    )  # 50 MiB in walks of 10, a fifth of it this kernel's
    assert copies_bytes(kernel, 10 * MIB, 100 * MIB) == 4 * MIB  # twice the cache is enough
    assert copies_bytes(kernel, 32 * MIB, 3 * MIB) == 3 * MIB


def test_samples_are_those_of_timed_launches_in_every_place() -> None:
    """Defect: a launch that only leads to another one is taken for a sample, or one place stands for all."""
    torch = pytest.importorskip("torch")
    args: dict[str, int | float | str] = {"num_tokens": 1, "dtype": "fp32"}
    kernels = tuple(
        WalkedKernel("rms_norm", "torch", {**args, "hidden_size": size}, 1, 10, 100)
        for size in (64, 128, 256)
    )
    orders = (
        (Stop(0, timed=True), Stop(1, timed=True), Stop(0, timed=True)),
        (Stop(1, timed=False), Stop(2, timed=True)),
    )
    setting = Setting(device_type="cpu", threads=1, last_level_cache_bytes=2**18, free_memory_bytes=2**29)
    held = HeldKernels(torch, setting, asdict(Walks(kernels, orders)))
    assert [len(samples) for samples in held.sample(3)] == [6, 3, 3]
    assert all(sample.ms > 0 for samples in held.sample(1) for sample in samples)
