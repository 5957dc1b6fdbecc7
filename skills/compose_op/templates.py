"""The text of a compound op and of its unit tests, from the request."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from skills.compose_op.mapping import config_fields

if TYPE_CHECKING:
    from skills.compose_op.schema import ComposeOpIn, SubKernel

_OP = '''"""`{name}`: {count} kernels behind one input.

{why}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from servingsim.ops.pricing import described, push_priced
from servingsim.timing.cost_tree import CostTreeBuilder, Evaluator, {nodes}
from servingsim.timing.engine import Kernel
from servingsim.timing.registry import kernels
from servingsim.timing.slot_inputs import {slot_inputs}, coordinates
from servingsim.validation import parse

if TYPE_CHECKING:
    from servingsim.timing.batch import Batches
    from servingsim.timing.contract import {contract}
    from servingsim.timing.coverage import OnMissing
    from servingsim.timing.source import TimingSource


@dataclass(frozen=True)
class {cls}Config:
    """Per-rank facts of the op.

    Attributes:
{attributes}
    """

{fields}


@dataclass(frozen=True)
class {cls}:
    """{slots} in this order, whatever the batch holds (INV-1)."""

    name: str
{members}

    @classmethod
    def build(cls, name: str, config: {cls}Config, source: TimingSource, *, on_missing: OnMissing) -> Self:
        """Every kernel from the op's Config."""
        kinds = kernels()
        return cls(
            name,
{builds}
        )

    def compile(self, builder: CostTreeBuilder) -> Sum:
        """One leaf a kernel, in launch order."""
        kernels_in_order = ({in_order})
        leaves = [builder.leaf(each.name, each.kind.kind, described(each)) for each in kernels_in_order]
        return Sum({children})

    def eval(self, batches: Batches, ev: Evaluator) -> None:
        """Fill the slots in compile order (INV-2)."""
{pushes}


OP = {cls}


{helpers}
'''

_HELPER = '''def {slot}_config(config: {cls}Config) -> KernelConfig:
    """The Config of {kind}."""
    given = {{
{pairs}
    }}
    return parse(kernels()["{kind}"].config, given, where="{kind}")
'''

_TESTS = '''"""The pure helpers of `{name}`: each kernel's Config, field by field."""

from __future__ import annotations

import dataclasses

from servingsim.ops.registry import op_module

MODULE = op_module("{family}", "{name}")
CONFIG = MODULE.{cls}Config(
{example}
)
{tests}'''

_TEST = '''

def test_{slot}_config_field_by_field() -> None:
    """Defect: a field of the op that does not reach {kind}, or reaches another of its fields."""
    config = MODULE.{slot}_config(CONFIG)
    assert {{name: getattr(config, name) for name in ({names})}} == {{
{pairs}
    }}


def test_{slot}_config_follows_the_device() -> None:
    """Defect: a device that is written into the op."""
    other = dataclasses.replace(CONFIG, gpu_name="another")
    assert MODULE.{slot}_config(other).gpu_name == "another"
'''


def class_name(request: ComposeOpIn) -> str:
    """`norm_proj` as `NormProj`."""
    return "".join(word.capitalize() for word in request.name.split("_"))


def op(request: ComposeOpIn, survey: dict[str, Any]) -> str:
    """The module of the op."""
    subs, cls = request.sub_kernels, class_name(request)
    types = {name: _type(request, survey, name) for name in config_fields(request)}
    constants = sorted({survey["slot_inputs"][sub.slot_input]["constant"] for sub in subs})
    return _OP.format(
        name=request.name,
        count=len(subs),
        why=textwrap.fill(_prose(request.justification), 110),
        nodes="Scale, Sum" if any(sub.launches > 1 for sub in subs) else "Sum",
        slot_inputs=", ".join(constants),
        contract="Dtype, KernelConfig" if "Dtype" in types.values() else "KernelConfig",
        cls=cls,
        attributes="\n".join(f"        {name}: {_goes_to(request, name)}" for name in types),
        fields="\n".join(f"    {name}: {text}" for name, text in types.items()),
        slots=", ".join(sub.slot for sub in subs),
        members="\n".join(f"    {sub.slot}: Kernel" for sub in subs),
        builds="\n".join(_build(sub) for sub in subs),
        in_order=", ".join(f"self.{sub.slot}" for sub in subs) + ("," if len(subs) == 1 else ""),
        children=_children(subs),
        pushes="\n".join(_push(sub, survey) for sub in subs),
        helpers="\n\n".join(_helper(sub, cls) for sub in subs).rstrip(),
    )


def tests(request: ComposeOpIn, survey: dict[str, Any]) -> str:
    """The module of its unit tests."""
    del survey
    example = {name: request.config_example[name] for name in config_fields(request)}
    return _TESTS.format(
        family=request.family,
        name=request.name,
        cls=class_name(request),
        example="\n".join(f"    {name}={_literal(value)}," for name, value in example.items()),
        tests="".join(_test(sub, example) for sub in request.sub_kernels),
    )


def _build(sub: SubKernel) -> str:
    return (
        f'            Kernel.build(\n                f"{{name}}.{sub.slot}",\n                kinds["{sub.kind}"],\n'
        f"                {sub.slot}_config(config),\n                source,\n"
        "                on_missing=on_missing,\n            ),"
    )


def _children(subs: list[SubKernel]) -> str:
    if all(sub.launches == 1 for sub in subs):
        return "tuple(leaves)"
    parts = [
        f"leaves[{index}]" if sub.launches == 1 else f"Scale({sub.launches}, leaves[{index}])"
        for index, sub in enumerate(subs)
    ]
    return f"({', '.join(parts)},)"


def _push(sub: SubKernel, survey: dict[str, Any]) -> str:
    constant = survey["slot_inputs"][sub.slot_input]["constant"]
    width = "" if sub.width == 1 else f", {sub.width!r}"
    kernel = f"self.{sub.slot}"
    return f"        push_priced(ev, {kernel}.name, {kernel}, coordinates({constant}, batches{width}))"


def _helper(sub: SubKernel, cls: str) -> str:
    pairs = "\n".join(f'        "{inner}": config.{outer},' for outer, inner in sub.config.items())
    return _HELPER.format(slot=sub.slot, cls=cls, kind=sub.kind, pairs=pairs)


def _test(sub: SubKernel, example: dict[str, Any]) -> str:
    names = [inner for outer, inner in sub.config.items() if outer in example]
    pairs = "\n".join(
        f'        "{inner}": {_literal(example[outer])},'
        for outer, inner in sub.config.items()
        if outer in example
    )
    listed = ", ".join(f'"{name}"' for name in names) + ("," if len(names) == 1 else "")
    return _TEST.format(slot=sub.slot, kind=sub.kind, names=listed, pairs=pairs)


def _type(request: ComposeOpIn, survey: dict[str, Any], name: str) -> str:
    """A field's type: that of the kernel field that it becomes, or of its example."""
    for sub in request.sub_kernels:
        field = survey["kinds"][sub.kind]["fields"].get(sub.config.get(name, ""))
        if field and field["type"] != "str":
            return str(field["type"])
    value = request.config_example[name]
    if isinstance(value, list):
        return f"tuple[{type(value[0]).__name__ if value else 'str'}, ...]"
    return type(value).__name__


def _goes_to(request: ComposeOpIn, name: str) -> str:
    goals = [f"{sub.slot} {sub.config[name]}" for sub in request.sub_kernels if name in sub.config]
    return f"becomes {', '.join(goals)}." if goals else "of the op alone."


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _prose(text: str) -> str:
    """Text that cannot end a docstring."""
    plain = " ".join(text.split()).replace("\\", "/").replace('"', "'")
    return plain if plain.endswith(".") else f"{plain}."
