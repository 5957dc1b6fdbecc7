"""Where the error of held-out products lies."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.gemm_holdout import Split
from benchmarks.holdout import Errors


def test_ranges_of_m_take_every_point_once_and_share_the_whole_error() -> None:
    """Defect: a size on a range's end counts twice or nowhere, or errors of both signs cancel."""
    errors = Errors(np.array([1.0, -3.0, 2.0, -10.0]))
    split = Split(errors, errors, 0, np.array([8.0, 64.0, 65.0, 5000.0]))
    found = split.by_m((64, 512, 4096))
    assert [name for name, *_ in found] == ["m 0 to 64", "m 64 to 512", "m above 4096"]
    assert [mape for _, mape, _ in found] == pytest.approx([2.0, 2.0, 10.0])
    assert [share for *_, share in found] == pytest.approx([0.25, 0.125, 0.625])
