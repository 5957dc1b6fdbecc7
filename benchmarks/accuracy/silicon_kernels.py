"""Kernel tables of an engine's version on a system, as a store that is kept between runs of the benchmark.

Looked for, in this order: a folder of tables in `../shared/data/kernels`; the wheel `aiconfigurator-core` that is
installed; wheels of older `aiconfigurator` in build/wheels, which still have versions that later ones dropped
(`pip download aiconfigurator==0.10.0 --no-deps -d build/wheels`). The nearest version of the installed wheel is asked
too, in claims of its own: older tables often hold other kernels than the engine ran (B200, SGLang 0.5.9: Triton's
experts, where the recipes name FlashInfer's; the tables of 0.5.14 have these).
"""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.accuracy.silicon_rows import DATA
from benchmarks.accuracy.silicon_wheels import members, unpack
from benchmarks.h100_rows import Absent
from profiling.importers.aiconfigurator import IMPORTER
from profiling.importers.aiconfigurator.systems_tree import installed_tree
from profiling.importers.aiconfigurator.table import tables
from profiling.importers.aiconfigurator.versions import nearest
from profiling.source import StoreSource
from profiling.store import Store
from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servingsim.timing.source import TimingSource

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / "build" / "wheels"
KEPT = ROOT / "build" / "accuracy" / "silicon"
FETCH = "pip download aiconfigurator==0.10.0 --no-deps -d build/wheels"
NEEDED = ("gemm", "context_attention", "generation_attention")
"""A version without these has collectives at most: they are no engine's kernels."""
ATTENTION = ("attention_decode", "mla_decode")
IMPORTERS = ROOT / "profiling" / "importers" / "aiconfigurator"


@dataclass(frozen=True)
class Tables:
    """Where the tables of a version lie.

    Attributes:
        system: They were measured on.
        backend: The engine.
        version: Of it.
        origin: For people, and part of the store's name.
        folder: Of loose tables, or the systems tree where None.
        wheel: The zip that holds them, where they are still in one.
    """

    system: str
    backend: str
    version: str
    origin: str
    folder: Path | None = None
    wheel: Path | None = None


@dataclass(frozen=True)
class Rows:
    """Tables that are at hand.

    Attributes:
        source: Of the rows.
        device: Key that they stand under.
        half: What they call 16-bit operands, as configs name it: older tables of TensorRT-LLM have float16 alone.
    """

    source: TimingSource
    device: str
    half: str


def tables_of(system: str, backend: str, version: str) -> tuple[Tables, ...]:
    """The tables of a version, where they are at hand; then those of the nearest version of the installed wheel.

    Raises:
        Absent: There are none of the engine on the system.
    """
    installed = _installed(system, backend)
    same = _beside(system, backend, version)
    if same is None and installed is not None and version in installed[1]:
        same = Tables(system, backend, version, installed[0])
    found = [each for each in (same or _in_a_wheel(system, backend, version),) if each is not None]
    if installed is not None and installed[1] and version not in installed[1]:
        found.append(Tables(system, backend, nearest(version, installed[1]), installed[0]))
    if not found:
        raise Absent(f"no kernels of {backend} on {system}: {FETCH}")
    return tuple(found)


@contextmanager
def rows_of(found: Tables) -> Iterator[Rows]:
    """Its rows; imported at the first use, and kept."""
    path = KEPT / f"{found.system}-{found.backend}-{found.version}-{_state(found)}.db"
    if not path.is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as place:
            part = Path(place) / "rows.db"
            with Store.open(part, create=True) as store:
                _import(store, found, Path(place))
            part.replace(path)
    with Store.open(path, read_only=True) as store:
        counts = store.counts()
        device = max(counts, key=lambda count: count.rows).device
        in_bf16 = any(
            store.columns(count.kind, count.device, count.backend, {"dtype": "bf16"}, ()) is not None
            for count in counts
            if count.kind in ATTENTION
        )
        yield Rows(StoreSource(store), device, "" if in_bf16 else "float16")


def _import(store: Store, found: Tables, scratch: Path) -> None:
    asked = {"system": found.system, "stack": found.backend, "version": found.version}
    if found.wheel is not None:
        unpack(found.wheel, found.system, f"{found.backend}/{found.version}", scratch / "systems")
        IMPORTER.run(store, systems_dir=str(scratch / "systems"), **asked)
    elif found.folder is not None:
        IMPORTER.run(store, stack=found.backend, data_dir=str(found.folder))
    else:
        IMPORTER.run(store, **asked)


def _beside(system: str, backend: str, version: str) -> Tables | None:
    short = f"{system.split('_', maxsplit=1)[0]}_{backend}_{version}"
    folders = sorted((DATA / "kernels").glob(f"{short}_wheel*"))
    return Tables(system, backend, version, folders[0].name, folder=folders[0]) if folders else None


def _in_a_wheel(system: str, backend: str, version: str) -> Tables | None:
    for wheel in sorted(WHEELS.glob("aiconfigurator-*.whl")):
        if members(wheel, f"{system}/{backend}/{version}"):
            origin = "-".join(wheel.name.split("-")[:2])
            return Tables(system, backend, version, origin, wheel=wheel)
    return None


def _installed(system: str, backend: str) -> tuple[str, list[str]] | None:
    """The installed wheel, and its versions with all that is needed; None where it is not installed."""
    try:
        tree = installed_tree()
    except ServingSimError:
        return None
    having = [set(tree.versions(system, tables()[name], backend)) for name in NEEDED]
    return tree.source, sorted(set.intersection(*having))


def _state(found: Tables) -> str:
    """Digest of where the rows come from and of the code that reads them."""
    digest = hashlib.blake2b(found.origin.encode(), digest_size=6)
    for path in sorted(IMPORTERS.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
