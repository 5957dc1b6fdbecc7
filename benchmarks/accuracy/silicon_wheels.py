"""Kernel tables in wheels of older `aiconfigurator`, which hold versions of engines that later ones dropped.

There a version's tables lie side by side (`systems/data/<system>/<engine>/<version>/<table>`); later wheels have a
folder for each family of kernels, and that is the layout that the importer reads.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from profiling.importers.aiconfigurator.table import tables


def members(wheel: Path, folder: str) -> list[str]:
    """Tables under a folder of the systems' data."""
    with zipfile.ZipFile(wheel) as archive:
        return [
            name
            for name in archive.namelist()
            if f"systems/data/{folder}/" in name and name.endswith(("_perf.parquet", "_perf.txt"))
        ]


def unpack(wheel: Path, system: str, version: str, place: Path) -> None:
    """A version's tables and those of NCCL with the system's limits, as a tree that the importer reads.

    Args:
        wheel: The zip.
        system: As its folder is called.
        version: `<engine>/<version>`.
        place: Of the new tree.
    """
    families = {stem: table.family for table in tables().values() for stem in table.stems}
    names = [*members(wheel, f"{system}/{version}"), *members(wheel, f"{system}/nccl")]
    with zipfile.ZipFile(wheel) as archive:
        for name in names:
            path = Path(name)
            family = families.get(path.stem, "others")
            to = place / "data" / system / family / path.parts[-3] / path.parts[-2] / path.name
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(archive.read(name))
        for name in archive.namelist():
            if name.endswith(f"systems/{system}.yaml"):
                (place / Path(name).name).write_bytes(archive.read(name))
