"""What a scaffolded compound op and its unit tests look like, with gaps for the names."""

from __future__ import annotations

OP = '''"""`{name}`: {count} kernels behind one input.

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

HELPER = '''def {slot}_config(config: {cls}Config) -> KernelConfig:
    """The Config of {kind}."""
    given = {{
{pairs}
    }}
    return parse(kernels()["{kind}"].config, given, where="{kind}")
'''

TESTS = '''"""The pure helpers of `{name}`: each kernel's Config, field by field."""

from __future__ import annotations

import dataclasses

from servingsim.ops.registry import op_module

MODULE = op_module("{family}", "{name}")
CONFIG = MODULE.{cls}Config(
{example}
)
{tests}'''

TEST = '''

def test_{slot}_config_field_by_field() -> None:
    """Defect: a field of the op that does not reach {kind}, or reaches another of its fields."""
    config = MODULE.{slot}_config(CONFIG)
    wanted = {{
{pairs}
    }}
    assert {{name: getattr(config, name) for name in wanted}} == wanted


def test_{slot}_config_follows_the_device() -> None:
    """Defect: a device that is written into the op."""
    other = dataclasses.replace(CONFIG, gpu_name="another")
    assert MODULE.{slot}_config(other).gpu_name == "another"
'''
