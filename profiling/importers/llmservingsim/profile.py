"""Where profiles lie in a folder, and what their meta.yaml says: device, engine version, model, ranks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profiling.importers.aiconfigurator.yaml_file import mapping, read_mapping, text
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping

META = "meta.yaml"
DTYPES = {"bf16": "bf16", "fp16": "fp16", "bfloat16": "bf16", "float16": "fp16"}


@dataclass(frozen=True)
class Profile:
    """One model's layers on one GPU.

    Attributes:
        shown: Its place below the folder, for people and for the provenance.
        device: The driver's name of the GPU.
        version: vLLM's.
        model: As the profiler was given it.
        dtype: Of weights, activations and cache.
        profiled_at: When.
        libraries: Of the machine.
        overrides: Sizes that the engine was given, those of the widest tensor parallelism.
        ranks: Folders by tensor-parallel degree, ascending.
    """

    shown: str
    device: str
    version: str
    model: str
    dtype: str
    profiled_at: str
    libraries: Mapping[str, str]
    overrides: Mapping[str, int]
    ranks: Mapping[int, Path]


def find_profiles(folder: str) -> list[Profile]:
    """Every profile below a folder, in the order of their paths.

    Raises:
        ServingSimError: E_PATH, there is none; E_INPUT, a meta.yaml that lacks what rows need.
    """
    root = Path(folder)
    found = sorted(root.rglob(META)) if root.is_dir() else []
    if not found:
        raise ServingSimError(
            f"holds no {META} of a profile" if root.is_dir() else "is no folder",
            code="E_PATH",
            path=folder,
            known="<GPU>/<model>/<dtype>/meta.yaml with tp1/dense.csv, tp1/attention.csv ... beside it",
            hint="name the folder of the profiles with --folder",
        )
    return [_profile(path, root) for path in found]


def _profile(path: Path, root: Path) -> Profile:
    meta = read_mapping(path)
    engine = mapping(meta.get("engine_effective"))
    said = {name: text(meta.get(name)) for name in ("gpu", "vllm_version", "model", "variant")}
    absent = [name for name, value in said.items() if not value]
    if absent:
        raise ServingSimError(
            f"does not say {', '.join(absent)}",
            path=str(path),
            known=f"fields {', '.join(meta)}",
            hint="add the fields: rows without a device and a version cannot be told apart",
        )
    if said["variant"] not in DTYPES:
        raise ServingSimError(
            f"variant {said['variant']!r}",
            path=str(path),
            known=", ".join(DTYPES),
            hint="quantised profiles do not say which layers are quantised, and are not imported",
        )
    ranks = {
        int(match[1]): each
        for each in sorted(path.parent.iterdir())
        if each.is_dir() and (match := re.fullmatch(r"tp([1-9]\d{0,3})", each.name))
    }
    if not ranks:
        raise ServingSimError(
            "has no folder tp1, tp2 ... beside it", path=str(path), hint="copy the whole profile"
        )
    return Profile(
        shown=path.parent.relative_to(root).as_posix(),
        device=said["gpu"],
        version=said["vllm_version"],
        model=said["model"],
        dtype=DTYPES[said["variant"]],
        profiled_at=text(meta.get("profiled_at")),
        libraries={
            "profiler": text(meta.get("profiler_version")),
            "cuda": text(meta.get("cuda_version")),
            "mode": "eager" if engine.get("enforce_eager") else "",
        },
        overrides=_sizes(mapping(engine.get("hf_overrides"))),
        ranks=dict(sorted(ranks.items())),
    )


def _sizes(overrides: Mapping[str, Any]) -> dict[str, int]:
    return {
        name: value
        for name, value in overrides.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
