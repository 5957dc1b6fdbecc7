"""A model as a row names it: its config, the format of its weights, and how its tokens spread over its experts.

Configs come from `../shared/data/configs`, or from the folder of them in the wheel `aiconfigurator-core`; one that is
in neither is told as missing. A row's quantisation goes into a config that states none.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.accuracy.silicon_rows import DATA
from benchmarks.h100_rows import WHEEL, Absent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.accuracy.silicon_rows import Served

FORMATS: dict[str, dict[str, Any]] = {
    "fp8_block": {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
    "fp8": {"quant_method": "fp8", "activation_scheme": "dynamic"},
    "w4a16_mxfp4": {"quant_method": "mxfp4"},
    "nvfp4": {
        "quant_method": "modelopt",
        "quant_algo": "NVFP4",
        "ignore": ["lm_head", "*q_a_proj*", "*q_b_proj*", "*kv_a_proj_with_mqa*", "*kv_b_proj*"],
    },
}
"""Of nvfp4: as NVIDIA's second checkpoint of DeepSeek-R1-0528, which quantises of attention the output projection alone
(its model card)."""
SKEWS = {"deepseek": "power_law_1.01"}
OTHER_SKEW = "power_law_1.2"
"""How the makers of the tables take tokens to spread over experts: 1.01 in DeepSeek's models, 1.2 in all others."""
ALIKE = re.compile(r"^meta-|-instruct|-fp8|-bf16|-hf|_config$")


def skew_of(served: Served) -> str:
    """The distribution of tokens over experts."""
    return next((skew for name, skew in SKEWS.items() if name in served.model.lower()), OTHER_SKEW)


def config_of(served: Served, dtype: str = "") -> dict[str, Any]:
    """The config of a model, quantised as the rows say.

    Args:
        served: What the rows name.
        dtype: Of activations, where the kernel tables name another 16-bit type than the config.

    Raises:
        Absent: No config is known, or the store has no dtype for the weights.
    """
    config = json.loads(_file(served.model).read_text("utf-8"))
    inner = config.get("text_config", config)
    stated = config.get("quantization_config") or inner.get("quantization_config") or {}
    four_bits = served.gemm == "nvfp4" and stated.get("quant_method") == "fp8"
    config["quantization_config"] = _format(served) if four_bits else stated or _format(served)
    if not config["quantization_config"]:
        del config["quantization_config"]
    if dtype:
        inner["torch_dtype"] = dtype
        inner.pop("dtype", None)
    return dict(config)


def _format(served: Served) -> dict[str, Any]:
    """Experts in blocks mean that all of the checkpoint is in blocks: it has one format."""
    name = served.moe if served.moe == "fp8_block" else served.gemm
    if not name or name == "bfloat16":
        return {}
    if name not in FORMATS:
        raise Absent(f"{name} weights: the store has no such dtype, and its measured rows are refused")
    # Gates and the router stay in 16 bits in every such checkpoint, and so does lm_head.
    return dict(FORMATS[name])


def _file(model: str) -> Path:
    wanted = _plain(model)
    for path in _known():
        if _plain(path.stem) == wanted:
            return path
    raise Absent(f"no config of {model} is at hand")


def _known() -> Iterator[Path]:
    yield from sorted((DATA / "configs").glob("*.json"))
    spec = importlib.util.find_spec(WHEEL)
    if spec is not None and spec.submodule_search_locations:
        root = Path(next(iter(spec.submodule_search_locations))) / "model_configs"
        yield from sorted(root.glob("*_config.json"))


def _plain(name: str) -> str:
    """The model's name without who published it and in which format."""
    last = name.rpartition("/")[2].rpartition("--")[2].lower()
    return ALIKE.sub("", ALIKE.sub("", last))
