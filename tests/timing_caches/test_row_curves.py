"""Curves between measured rows of a product, learnt on other devices."""

from __future__ import annotations

import numpy as np

from servingsim.timing.caches_curved import CurvedCache
from servingsim.timing.engine import Kernel
from servingsim.timing.kernels.single_gemm import KERNEL, SingleGemmConfig
from servingsim.timing.row_curves.shelf import row_curve_for
from servingsim.timing.source import DeviceSpec, MemorySource

H100 = DeviceSpec("NVIDIA H100 80GB HBM3", {"bf16": 989e12}, 3.35e12, 80 * 2**30, multiprocessors=132)
CPU = DeviceSpec("cpu", {"bf16": 1e12}, 1e11, 10**11)
SIZES = tuple(2**power for power in range(14))


def _kernel(device: DeviceSpec) -> Kernel:
    source = MemorySource({device.name: device})
    for m in SIZES:
        args = {"m": m, "n": 4096, "k": 4096, "dtype": "bf16"}
        source.add("single_gemm", device.name, "b", args, 1.0 + m / 128)
    config = SingleGemmConfig(gpu_name=device.name, backends=("b",), n=4096, k=4096, dtype="bf16")
    return Kernel.build("gemm", KERNEL, config, source)


def test_a_device_is_never_read_with_a_curve_of_its_own_rows() -> None:
    """Defect: a figure on a device whose rows had a part in the fit."""
    curve = row_curve_for(H100, 2.0)
    assert curve is not None
    assert H100.name not in curve.devices


def test_measured_sizes_keep_their_times_and_those_between_have_an_error() -> None:
    """Defect: a learnt curve that overrules a measurement, or answers as if it were one."""
    kernel = _kernel(H100)
    assert isinstance(kernel.tables[0].cache, CurvedCache)
    known = np.array(SIZES, dtype=float)[:, None]
    np.testing.assert_allclose(kernel.eval(known).time_ms, 1.0 + known[:, 0] / 128)
    between = kernel.eval(np.array([[3.0], [300.0], [1025.0], [5000.0]]))
    assert np.isfinite(between.time_ms).all()
    assert (between.error > 0).all()
    assert not between.flags.any()


def test_a_cpu_is_read_by_plain_rules() -> None:
    """Defect: a GPU's waves in the times of a device that has none."""
    assert row_curve_for(CPU, 2.0) is None
    assert not isinstance(_kernel(CPU).tables[0].cache, CurvedCache)


def test_a_prediction_says_which_device_its_curve_was_learnt_on_and_that_others_were_followed() -> None:
    """Defect: an answer between rows passes for one that rests on the device's own rows alone."""
    source = MemorySource({H100.name: H100})
    for m in SIZES:
        for backend in ("b", "c"):
            args = {"m": m, "n": 4096, "k": 4096, "dtype": "bf16"}
            source.add("single_gemm", H100.name, backend, args, 1.0 + m / 128)
    source.add("single_gemm", H100.name, "c", {"m": 48, "n": 4096, "k": 4096, "dtype": "bf16"}, 1.5)
    config = SingleGemmConfig(gpu_name=H100.name, backends=("b",), n=4096, k=4096, dtype="bf16")
    told = Kernel.build("gemm", KERNEL, config, source).tables[0].provenance.source
    assert "shape of the curve between rows learnt on NVIDIA H200" in told
    assert "following rows of 1 other backend on the device" in told
    assert "learnt" not in _kernel(CPU).tables[0].provenance.source
