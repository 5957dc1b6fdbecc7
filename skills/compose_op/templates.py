"""A compound op and its unit tests as text: the gaps of `template_texts`, filled from the request."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

from skills.compose_op import template_texts
from skills.compose_op.mapping import config_fields

if TYPE_CHECKING:
    from skills.compose_op.schema import ComposeOpIn, SubKernel


def class_name(request: ComposeOpIn) -> str:
    """`norm_proj` as `NormProj`."""
    return "".join(word.capitalize() for word in request.name.split("_"))


def op(request: ComposeOpIn, survey: dict[str, Any]) -> str:
    """The module of the op."""
    subs, cls = request.sub_kernels, class_name(request)
    types = {name: _type(request, survey, name) for name in config_fields(request)}
    constants = sorted({survey["slot_inputs"][sub.slot_input]["constant"] for sub in subs})
    return template_texts.OP.format(
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
    return template_texts.TESTS.format(
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
    return template_texts.HELPER.format(slot=sub.slot, cls=cls, kind=sub.kind, pairs=pairs)


def _test(sub: SubKernel, example: dict[str, Any]) -> str:
    pairs = "\n".join(
        f'        "{inner}": {_literal(example[outer])},'
        for outer, inner in sub.config.items()
        if outer in example
    )
    return template_texts.TEST.format(slot=sub.slot, kind=sub.kind, pairs=pairs)


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
