"""Validated errors that come with the package: read, matched with what an answer rests on, and said in words."""

from __future__ import annotations

from servingsim.sim.validated.read import read_validated
from servingsim.sim.validated.record import ANY, ITERATION, SERVING, ValidatedRecord, ValidatedScope

__all__ = ["ANY", "ITERATION", "SERVING", "ValidatedRecord", "ValidatedScope", "read_validated"]
