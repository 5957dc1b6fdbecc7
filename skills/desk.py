"""Where a tool works: the workspace, the store of measured rows, and the folders that it may read.

The workspace holds what an agent writes, under the package's own sub-folders (`servingsim/timing/kernels`,
`profiling/backends`, `tests`), and `state`: reports, jobs, campaigns, the call log.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from servingsim.errors import ServingSimError

WORKSPACE_VARIABLE = "SERVINGSIM_WORKSPACE"
DEFAULT_WORKSPACE = "servingsim_workspace"
DB_VARIABLE = "SERVINGSIM_DB"
MAX_WAIT_VARIABLE = "SERVINGSIM_MAX_WAIT_S"
MAX_WAIT_S = 50.0
"""Clients give up on a call after 60 s."""


@dataclass(frozen=True)
class Desk:
    """A place of work.

    Attributes:
        workspace: Folder of what is written; made when something is first written.
        db: The store of measured rows that answers are made from.
        roots: Folders whose files may be read. Paths that lead out of them are refused, links too.
        read_only: Tools that write are refused.
        max_wait_s: Longest wait of one call.
    """

    workspace: Path
    db: Path
    roots: tuple[Path, ...] = field(default=())
    read_only: bool = False
    max_wait_s: float = MAX_WAIT_S

    @classmethod
    def from_environment(
        cls, *, db: str | None = None, roots: tuple[str, ...] = (), read_only: bool = False
    ) -> Self:
        """The desk that the environment describes; roots default to the current folder.

        Raises:
            ServingSimError: E_PATH, a root that is no folder, or a wait that is no number.
        """
        workspace = Path(os.environ.get(WORKSPACE_VARIABLE) or DEFAULT_WORKSPACE).absolute()
        chosen = tuple(Path(root).resolve() for root in roots) or (Path.cwd().resolve(),)
        for root in chosen:
            if not root.is_dir():
                raise ServingSimError(f"no folder: {root}", code="E_PATH", path="root", hint="create it")
        return cls(
            workspace,
            Path(db or os.environ.get(DB_VARIABLE) or "servingsim.db").absolute(),
            chosen,
            read_only,
            _max_wait_s(),
        )

    @property
    def state(self) -> Path:
        """Folder of reports, jobs, campaigns and the call log."""
        return self.workspace / "state"

    def readable(self, path: str, *, what: str) -> Path:
        """A file or folder below the roots or the workspace that may be read.

        Args:
            path: As the caller gave it; relative to the first root.
            what: Name of the field, for the message.

        Raises:
            ServingSimError: E_PATH, it lies outside or a link leads out; E_NOT_FOUND, it is not there.
        """
        return self._inside(path, (*self.roots, self.workspace), what, must_exist=True)

    def writable(self, path: str, *, what: str) -> Path:
        """A path below the workspace, for writing; relative to the workspace.

        Raises:
            ServingSimError: E_PATH, it lies outside or a link leads out.
        """
        return self._inside(path, (self.workspace,), what, must_exist=False)

    def _inside(self, path: str, folders: tuple[Path, ...], what: str, *, must_exist: bool) -> Path:
        if "\0" in path:
            raise ServingSimError("a path with a null byte", code="E_PATH", path=what)
        base = folders[0] if folders else self.workspace
        resolved = (base / path).resolve()
        allowed = [folder.resolve() for folder in folders]
        if not any(resolved == folder or folder in resolved.parents for folder in allowed):
            raise ServingSimError(
                f"{path!r} leads outside",
                code="E_PATH",
                path=what,
                known=f"paths below {', '.join(map(str, allowed))}",
                hint="start the server with --root FOLDER"
                if must_exist
                else "choose a path in the workspace",
            )
        if must_exist and not resolved.exists():
            raise ServingSimError(
                f"no such file: {path!r}", code="E_NOT_FOUND", path=what, hint="correct the path"
            )
        return resolved


def _max_wait_s() -> float:
    text = os.environ.get(MAX_WAIT_VARIABLE, "")
    try:
        value = float(text) if text else MAX_WAIT_S
    except ValueError:
        value = -1.0
    if not 0 <= value <= 86400:
        raise ServingSimError(
            f"{MAX_WAIT_VARIABLE} is {text!r}", known="seconds from 0 to 86400", hint="correct or unset it"
        )
    return value
