"""The skills as folders that follow the Agent Skills specification: SKILL.md with a name and a description."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import skills
from server.frontmatter import read_frontmatter
from servingsim.errors import ServingSimError

SKILL_FILE = "SKILL.md"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_LINES = 500
MAX_COMPATIBILITY = 500
KNOWN_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})


@dataclass(frozen=True)
class SkillText:
    """One skill as agents read it.

    Attributes:
        name: As the specification wants it, with hyphens.
        text: The whole file.
        keys: Its frontmatter.
        body: What follows it.
        faults: What keeps it from being valid.
    """

    name: str
    text: str
    keys: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    faults: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return str(self.keys.get("description", ""))


def skill_texts() -> list[SkillText]:
    """The skills of this package, sorted by name."""
    folder = Path(skills.__file__).parent
    return [
        read_skill(path, path.parent.name.replace("_", "-"))
        for path in sorted(folder.glob(f"[!_]*/{SKILL_FILE}"))
    ]


def exported_skills(folder: Path) -> list[SkillText]:
    """The skills that lie in a folder as folders.

    Raises:
        ServingSimError: E_NOT_FOUND, no such folder or no skill in it.
    """
    found = [read_skill(path, path.parent.name) for path in sorted(folder.glob(f"*/{SKILL_FILE}"))]
    if not found:
        raise ServingSimError(
            f"no skill in {str(folder)!r}",
            code="E_NOT_FOUND",
            known=f"folders with a {SKILL_FILE}",
            hint=f"servingsim skills export {folder}",
        )
    return found


def read_skill(path: Path, name: str) -> SkillText:
    """A skill's file, with what is wrong with it.

    Args:
        path: The file.
        name: Of the folder that it lies in, or will lie in.
    """
    try:
        text = path.read_text(encoding="utf-8")
        keys, body = read_frontmatter(text)
    except (OSError, UnicodeDecodeError) as error:
        return SkillText(name, "", faults=(f"cannot be read: {error}",))
    except ServingSimError as error:
        return SkillText(name, text, faults=(error.what,))
    return SkillText(name, text, keys, body, tuple(_faults(name, keys, body)))


def export_skills(folder: Path, *, overwrite: bool) -> list[Path]:
    """Write every skill as a folder below `folder`; all of them or, where one is refused, none.

    Raises:
        ServingSimError: E_STATE, a skill is not valid; E_PATH, another file lies there, or it cannot be written.
    """
    files = {folder / each.name / SKILL_FILE: each for each in skill_texts()}
    for path, each in files.items():
        if each.faults:
            raise ServingSimError(
                f"the skill {each.name} is not valid: {'; '.join(each.faults)}",
                code="E_STATE",
                path=str(path),
            )
        if (
            not overwrite
            and path.exists()
            and path.read_text(encoding="utf-8", errors="replace") != each.text
        ):
            raise ServingSimError(
                "another file lies there", code="E_PATH", path=str(path), hint="--overwrite"
            )
    try:
        for path, each in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(each.text, encoding="utf-8")
    except OSError as error:
        raise ServingSimError(
            f"cannot be written: {error.strerror}",
            code="E_PATH",
            path=str(folder),
            hint="choose another folder",
        ) from error
    return list(files)


def _faults(name: str, keys: dict[str, Any], body: str) -> list[str]:
    said, description = keys.get("name"), keys.get("description")
    compatibility = keys.get("compatibility", "-")
    lines = len(body.splitlines())
    tests = {
        f"name is {said!r}, the folder {name!r}": said == name,
        f"name {said!r}: at most {MAX_NAME} lowercase letters, digits and single hyphens": (
            isinstance(said, str) and len(said) <= MAX_NAME and NAME.fullmatch(said) is not None
        ),
        f"description: 1 to {MAX_DESCRIPTION} characters of text": (
            isinstance(description, str)
            and 0 < len(description.strip()) <= len(description) <= MAX_DESCRIPTION
        ),
        f"compatibility: 1 to {MAX_COMPATIBILITY} characters of text": (
            isinstance(compatibility, str) and 0 < len(compatibility) <= MAX_COMPATIBILITY
        ),
        f"metadata: {keys.get('metadata')!r} is no map": isinstance(keys.get("metadata", {}), dict),
        f"fields that nobody knows: {sorted(keys.keys() - KNOWN_KEYS)}": keys.keys() <= KNOWN_KEYS,
        f"the text has {lines} lines, at most {MAX_LINES - 1} are read well": lines < MAX_LINES,
        "there is no text": bool(body.strip()),
    }
    return [fault for fault, holds in tests.items() if not holds]
