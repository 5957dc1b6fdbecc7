"""The worked example as a page: run it, and write what was called and answered. `make worked-example` calls this."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

from tests.worked_example.flow import Turn, run

PAGE = Path("docs/worked-example.md")
MAX_SHOWN = 700
HEAD = """# A worked example

An orchestrator and an implementer wire a kernel that this project does not ship, a residual addition fused with an
RMSNorm, validate its cache on this CPU and compose an operation that uses it. They share nothing but a campaign; what
follows is each MCP call and its answer, shortened, of one real run. What was there before is the profiling side: a kind
and its torch backend. `make worked-example` runs it again and renews this page; a test runs it and replays its log.
"""


def page(turns: list[Turn], workspace: Path) -> str:
    """The turns as Markdown, without the paths of the machine that ran them."""
    parts = [HEAD]
    for number, turn in enumerate(turns, 1):
        parts.append(f"## {number}. {turn.role}: `{turn.tool}`\n")
        parts.append(f"```json\n{_shown(turn.arguments)}\n```\n")
        parts.append("\n".join(_answer(turn.envelope)) + "\n")
    text = "\n".join(parts).replace(str(workspace), "WORKSPACE")
    return re.sub(r"/\S*?/servingsim-\w+/", "SCRATCH/", text)


def _answer(envelope: dict[str, Any]) -> list[str]:
    if not envelope["ok"]:
        return [f"Refused: {envelope['error']['message']}"]
    result = envelope["result"] or {}
    lines = [f"Answer: **{_standing(result)}**. {result.get('summary') or ''}".rstrip(), ""]
    lines += [
        f"- {each['status']} `{each['id']}`: {_short(each['evidence'])}"
        for each in result.get("criteria", [])
    ]
    if result.get("task"):
        brief = result["task"]
        lines += [f"Brief of `{brief['task_id']}`: {brief['do']}", ""]
        lines += [f"- checked by the server: `{rule['id']}` {rule['text']}" for rule in brief["criteria"]]
    if result.get("closeout"):
        lines += ["", "Closeout:", "", f"```json\n{_shown(result['closeout'], 4000)}\n```"]
    return lines


def _standing(result: dict[str, Any]) -> str:
    return str(result.get("verdict") or result.get("status") or result.get("standing") or "done")


def _shown(data: object, most: int = MAX_SHOWN) -> str:
    text = json.dumps(data, indent=1)
    return text if len(text) <= most else f"{text[:most].rsplit(chr(10), 1)[0]}\n ... shortened"


def _short(text: str) -> str:
    line = " ".join(text.split()).replace("|", "/")
    return line if len(line) <= 200 else f"{line[:200]} ..."


def main() -> None:
    """Run the example in a temporary workspace and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        turns = anyio.run(run, workspace, Path(folder) / "rows.db")
        PAGE.write_text(page(turns, Path(folder)), encoding="utf-8")
    sys.stderr.write(f"written: {PAGE}, {len(turns)} calls\n")


if __name__ == "__main__":
    main()
