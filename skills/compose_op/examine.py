"""A compound op looked at while it works, in the subject process: facts only, the verdict is the judge's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servingsim.ops.registry import op_module
from servingsim.timing.batch import Batches
from servingsim.timing.cost_tree import CostTreeBuilder, Evaluator, flatten
from servingsim.timing.cost_tree.describe import describe
from servingsim.timing.registry import kernels
from skills.compose_op.facade import config_of, exposed_inputs, field_types, grown
from skills.compose_op.helper_facts import helper_facts
from skills.compose_op.price import METRICS, ON_MISSING, Recorder, expand, op_of, plain, priced
from skills.compose_op.synthetic import REQUESTS, batch_of, source_of

if TYPE_CHECKING:
    from types import ModuleType

    from servingsim.ops.atomic import Op
    from servingsim.timing.contract import KernelConfig


def examine(request: dict[str, Any]) -> dict[str, Any]:
    """Build, compile and evaluate the op on synthetic rows.

    Args:
        request: `family`, `name`, `sub_kernels`, and `config`, an example of the op's Config.

    Returns:
        `config_fields`, `exposed`, `helpers` by slot, `leaves`, `tree`, `grown_leaves` (with larger capacities),
        `evals` (one for each number of requests, then all in one).
    """
    module = op_module(request["family"], request["name"])
    config = config_of(module, request["config"])
    subs = request["sub_kernels"]
    helpers = {sub["slot"]: helper_facts(module, sub, config) for sub in subs}
    configs = [_sub_config(module, sub, config, request["config"], helpers) for sub in subs]
    source = source_of((kernels()[sub["kind"]], each) for sub, each in zip(subs, configs, strict=True))
    truths = [op_of(sub, each, source) for sub, each in zip(subs, configs, strict=True)]
    op = module.OP.build(request["name"], config, source, on_missing=ON_MISSING)
    builder = CostTreeBuilder()
    tree = op.compile(builder)
    flat = flatten(tree)
    groups = [[requests] for requests in REQUESTS] + [list(REQUESTS)]
    return {
        "config_fields": field_types(type(config)),
        "exposed": exposed_inputs(module, op),
        "helpers": helpers,
        "leaves": [[leaf.name, leaf.kind] for leaf in builder.manifest().leaves],
        "tree": describe(tree, builder.manifest()),
        "repetitions": [float(times) for times in flat.repetitions()],
        "grown_leaves": _grown_leaves(module, config, source),
        "evals": [_evaluated(op, builder, flat, truths, requests) for requests in groups],
    }


def _sub_config(
    module: ModuleType,
    sub: dict[str, Any],
    config: Any,  # noqa: ANN401 - the op's own class
    example: dict[str, Any],
    helpers: dict[str, Any],
) -> KernelConfig:
    if helpers[sub["slot"]]["usable"]:
        found: KernelConfig = getattr(module, f"{sub['slot']}_config")(config)
        return found
    return expand(sub, kernels()[sub["kind"]], example)


def _grown_leaves(module: ModuleType, config: Any, source: Any) -> int | None:  # noqa: ANN401 - the op's class
    larger = grown(config)
    if larger is None:
        return None
    builder = CostTreeBuilder()
    try:
        module.OP.build("grown", larger, source, on_missing=ON_MISSING).compile(builder)
    except Exception:  # noqa: BLE001 - a Config that cannot grow proves nothing
        return None
    return len(builder.manifest().leaves)


def _evaluated(
    op: Any,  # noqa: ANN401 - the op's own class
    builder: CostTreeBuilder,
    flat: Any,  # noqa: ANN401 - a FlatTree
    truths: list[Op],
    requests: list[int],
) -> dict[str, Any]:
    batches = Batches.of([batch_of(number) for number in requests])
    recorder = Recorder(flat, builder.manifest(), len(batches))
    error = ""
    try:
        op.eval(batches, recorder)
    except Exception as fault:  # noqa: BLE001 - whatever an op under test raises is a finding about it
        error = f"{type(fault).__name__}: {fault}"[:300]
    leaves = builder.manifest().leaves
    total: list[list[float]] | None = None
    if not error and len(recorder.pushes) == flat.slots == len(leaves):
        ev = Evaluator(flat, builder.manifest(), len(batches))
        for leaf, (_, metrics) in zip(leaves, recorder.pushes, strict=True):
            ev.push(leaf.name, metrics)
        total = [[float(value) for value in row] for row in ev.totals().values[:METRICS, 0]]
    return {
        "requests": requests,
        "error": error,
        "leaves": len(leaves),
        "pushes": [{"name": name, "values": plain(metrics)} for name, metrics in recorder.pushes],
        "expected": [priced(truth, batches) for truth in truths],
        "total": total,
    }
