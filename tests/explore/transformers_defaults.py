"""Writes or checks servingsim/archs/explore/class_defaults.json: what Transformers' config classes fill in.

Run as a program: `--write` replaces the table, without it the differences are printed as JSON. Only fields that the
readers name are kept, only defaults that are written down in the class (derived ones follow from the rest).
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from servingsim.archs.explore.model_types import ENCODERS

LATER = {
    "layer_types",
    "layers_block_type",
    "mlp_layer_types",
    "no_rope_layers",
    "moe_layers",
    "dtype",
    "torch_dtype",
    "is_encoder_decoder",
}
"""Lists over layers that a config of another depth cannot inherit, and what a checkpoint decides."""


def folder() -> Path:
    """The readers' package."""
    spec = importlib.util.find_spec("servingsim.archs.explore")
    if spec is None or spec.origin is None:
        raise SystemExit("servingsim is not installed")
    return Path(spec.origin).parent


def named_fields() -> set[str]:
    """Every string constant of the readers: among them, the fields that they read."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in folder().glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def extracted() -> dict[str, dict[str, Any]]:
    """The table as the installed Transformers has it."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES  # noqa: PLC0415

    wanted, found = named_fields() - LATER, {}
    for model_type in sorted(CONFIG_MAPPING_NAMES):
        try:
            stated = dataclasses.fields(CONFIG_MAPPING[model_type])
        except (KeyError, ImportError, TypeError, AttributeError):
            continue
        row = {
            each.name: each.default
            for each in sorted(stated, key=lambda each: each.name)
            if each.name in wanted and isinstance(each.default, bool | int | float | str)
        }
        if "vocab_size" in row and model_type not in ENCODERS:
            found[model_type] = row
    return found


def main() -> None:
    """Print the differences, or write the table."""
    table, file = extracted(), folder() / "class_defaults.json"
    if "--write" in sys.argv[1:]:
        lines = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in table.items()
        )
        file.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
        return
    stored = json.loads(file.read_text(encoding="utf-8"))
    names = sorted(set(stored) | set(table))
    sys.stdout.write(json.dumps([name for name in names if stored.get(name) != table.get(name)]))


if __name__ == "__main__":
    main()
