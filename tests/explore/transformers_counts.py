"""Counts the weights of Transformers' own models on the meta device: {name: [config, elements of the text model]}.

A program, so that torch stays out of the test process. Arguments: files of configs (one config, or an object of
many), or `--defaults` for the class defaults of every causal language model.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
TOWERS = ("visual", "vision", "audio", "multi_modal")


def elements(config: Any) -> int:  # noqa: ANN401 - Transformers' config
    """Of the text model and its lm_head, with the routers' selecting biases, which are buffers there."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText  # noqa: PLC0415

    with torch.device("meta"):
        try:
            model = AutoModelForCausalLM.from_config(config.get_text_config())
        except ValueError:
            model = AutoModelForImageTextToText.from_config(config)
    weights = [each.numel() for name, each in model.named_parameters() if not any(t in name for t in TOWERS)]
    biases = [each.numel() for name, each in model.named_buffers() if "correction_bias" in name]
    return int(sum(weights) + sum(biases))


def given(files: list[str]) -> dict[str, Any]:
    """The configs of the files by name, those whose type Transformers knows."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES  # noqa: PLC0415

    found: dict[str, Any] = {}
    for file in files:
        data = json.loads(Path(file).read_text(encoding="utf-8"))
        found |= {Path(file).stem: data} if "model_type" in data else data
    known = {name: data for name, data in found.items() if data["model_type"] in CONFIG_MAPPING_NAMES}
    return {
        name: (
            data,
            CONFIG_MAPPING[data["model_type"]](**{k: v for k, v in data.items() if k != "model_type"}),
        )
        for name, data in known.items()
    }


def defaults() -> dict[str, Any]:
    """The class defaults of every causal language model, those that can be made."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: PLC0415
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as NAMES  # noqa: PLC0415

    found: dict[str, Any] = {}
    for name in sorted(NAMES):
        try:
            made = CONFIG_MAPPING[name]()
        except Exception:  # noqa: BLE001, S112 - whatever an incomplete class raises
            continue
        found[name] = (json.loads(json.dumps(made.to_dict(), default=str)), made)
    return found


def main() -> None:
    """Print the counts; a model that cannot be built is left out."""
    warnings.simplefilter("ignore")
    configs = defaults() if sys.argv[1:] == ["--defaults"] else given(sys.argv[1:])
    counts: dict[str, Any] = {}
    for name, (data, made) in configs.items():
        try:
            counts[name] = [data, elements(made)]
        except Exception:  # noqa: BLE001, S112 - whatever an incomplete model raises
            continue
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
