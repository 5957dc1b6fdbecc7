"""What run.py and recheck.py ask the subject, with the request's own fields in every question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError
from skills.validate_cache.depth import depth_of

if TYPE_CHECKING:
    from skills.subject import Subject
    from skills.validate_cache.facts import CacheRequest

Plain = dict[str, Any]


class Asking:
    """Questions about one kind and Config.

    Args:
        subject: The process that answers.
        request: Names the kind and its Config.
        db: The fitted rows.
    """

    def __init__(self, subject: Subject, request: CacheRequest, db: str) -> None:
        self._subject, self._request = subject, request
        self._same: Plain = {
            "kind": request.kind,
            "config": request.config,
            "backends": request.backends,
            "threads": request.threads,
            "db": db,
        }

    def grid(self) -> Plain:
        """The kind's grid, what it lacks, and where it could be measured."""
        return self._subject.ask("grid", **self._same)

    def fit(self) -> Plain:
        """The fit and its probes."""
        request = self._request
        return self._subject.ask(
            "fit",
            **self._same,
            truth=request.truth,
            probes=request.probes,
            most=request.max_probes or depth_of(request.share).probes,
            seed=request.seed,
        )

    def fit_or_refuse(self, *, fillable: bool) -> None:
        """Have the subject refuse a fit without rows, and add how this tool would measure them.

        Raises:
            ServingSimError: There is no row.
        """
        try:
            self._subject.ask("fit", **self._same, truth="measure", probes=[], most=4, seed=0)
        except ServingSimError as error:
            if error.code not in {"E_COVERAGE", "E_NOT_FOUND"}:
                raise
            how = f"call again with fill: true, or run: {error.hint}" if fillable else error.hint
            raise ServingSimError(
                error.what, code=error.code, known=error.known, hint=how, path="db"
            ) from error

    def evaluate(self, probes: list[Plain], cache: str = "") -> list[Plain]:
        """What the simulator answers at the probes."""
        asked = self._subject.ask("evaluate", **self._same, probes=probes, cache=cache)
        answers: list[Plain] = asked["answers"]
        return answers

    def truths(self, probes: list[Plain], truth_db: str) -> list[dict[str, Plain]]:
        """Measured times of the probes by backend."""
        found: list[dict[str, Plain]] = self._subject.ask(
            "truths", **self._same, probes=probes, truth_db=truth_db
        )["truths"]
        return found

    def scratch(self, device: str, truth_db: str) -> None:
        """Make the database of the truths."""
        self._subject.ask("scratch", **self._same, device=device, truth_db=truth_db)
