"""How long one launch takes: the clock that suits it, enough samples, and a judgement of them."""

from __future__ import annotations

from profiling.timers.launch_time import time_launch

__all__ = ["time_launch"]
