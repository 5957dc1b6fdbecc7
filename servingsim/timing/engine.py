"""A kernel that can be asked: its rows of every candidate backend, each read by the kind's cache.

`Kernel.build` loads the rows once; `Kernel.eval` answers for any number of coordinates. At each point the fastest
backend wins and is named, but an answer inside a backend's measured rows goes before any extrapolated one: a held
rate is no evidence that a backend would win.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from servingsim.errors import CoverageError
from servingsim.timing.backend_table import BackendTable, build_table_of
from servingsim.timing.cache import CacheContext, FlagArray
from servingsim.timing.coverage import NO_COVERAGE
from servingsim.timing.limits import Limits, limits_of
from servingsim.timing.remedy import no_rows, remedy
from servingsim.timing.source import Provenance

if TYPE_CHECKING:
    from collections.abc import Callable

    from servingsim.timing.contract import KernelConfig, KernelInput, KernelKind
    from servingsim.timing.source import ArgValue, FloatArray, TimingSource
    from servingsim.timing.work.amount import Work
