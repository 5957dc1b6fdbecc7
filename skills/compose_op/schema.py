"""What compose_op takes and gives."""

from __future__ import annotations

import keyword
import re
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from skills.report import Part, SkillReport
from skills.request import Request, SkillRequest

Form = Literal["atomic", "compound"]
NAME = re.compile(r"[a-z][a-z0-9_]{0,47}")
TAKEN = frozenset({"name", "config", "build", "compile", "eval", "source", "batches", "ev"})
"""Names that an op's class and its methods use already."""


class SubKernel(Request):
    """One kernel of the op."""

    slot: str
    kind: str
    slot_input: str = Field(description="total_tokens, prefill_requests, ...")
    config: dict[str, str] = Field(default={}, description="op field: kernel field; equal names need none")
    width: float = Field(1, gt=0, le=2**40, description="times slot_input")
    launches: int = Field(1, ge=1, le=1024)


class ComposeOpIn(SkillRequest):
    """Which op, and what it is claimed to consist of."""

    family: str
    name: str
    form: Literal["atomic", "compound", "decide"] = "decide"
    mode: Literal["scaffold", "check"] = "check"
    sub_kernels: list[SubKernel] = Field(min_length=1, max_length=12, description="in launch order")
    config_fields: list[str] = Field(default=[], description="default: as mapped")
    input_fields: list[str] = Field(default=[], description="q_len, kv_len, ...")
    justification: str = Field("", max_length=1000, description="state that the kernels share")
    config_example: dict[str, Any] = Field(default={}, description="a valid op Config")
    worklet_slot: str = Field("", max_length=120)
    overwrite: bool = False

    @model_validator(mode="after")
    def _usable_names(self) -> Self:
        slots = [each.slot for each in self.sub_kernels]
        twice = sorted({slot for slot in slots if slots.count(slot) > 1})
        if twice:
            raise ValueError(f"slots named twice: {twice}")
        mapped = {
            word for each in self.sub_kernels for word in (each.kind, *each.config, *each.config.values())
        }
        words = {*slots, *mapped, *self.config_fields, *self.config_example, self.name, self.family}
        bad = sorted({word for word in words if not _plain(word)} | (TAKEN & set(slots)))
        if bad:
            raise ValueError(f"no names for a field or file, or in use already: {bad}")
        return self


def _plain(word: str) -> bool:
    return NAME.fullmatch(word) is not None and not keyword.iskeyword(word)


class LeafSlot(Part):
    """One leaf, in compile order."""

    name: str
    kind: str
    slot_input: str


class UnitTests(Part):
    """How the op's own tests went."""

    command: str
    exit_code: int | None
    passed: int


class ComposeReport(SkillReport):
    """What the op is, and what was seen of it."""

    skill: Literal["compose_op"] = "compose_op"
    request: ComposeOpIn
    form: Form
    why: str = Field(description="of the form")
    files: list[str] = Field(default=[])
    config_fields: dict[str, str] = Field(default={}, description="op Config: type by name")
    input_fields: list[str] = Field(default=[])
    leaf_slots: list[LeafSlot] = Field(default=[], description="in compile order")
    slot_inputs: list[str] = Field(default=[])
    one_liner: str = Field("", description="of an atomic op, for the worklet's build site")
    tests: UnitTests | None = None
    worklet_slot: str = ""
    justification: str = ""
