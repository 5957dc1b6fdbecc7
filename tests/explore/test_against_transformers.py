"""Our counts against the models that Transformers builds from the same configs, on the meta device."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from servingsim.archs.explore import model_facts, parameters
from servingsim.errors import ServingSimError

HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="needs the extra `torch`"),
]


def program(name: str, *arguments: str) -> Any:  # noqa: ANN401 - any JSON
    command = [sys.executable, str(HERE / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def differing(counts: dict[str, Any], tolerance: float) -> dict[str, tuple[int, int]]:
    """Ours and theirs where they differ; what we refuse or call unknown is no difference."""
    found: dict[str, tuple[int, int]] = {}
    for name, (data, theirs) in counts.items():
        try:
            facts = model_facts(data, where=name, dtype="bf16")
        except ServingSimError:
            continue
        ours = parameters(facts).total
        named = set(facts.unknown) - {"max_positions", "activation"}
        if abs(ours - theirs) > tolerance * theirs and not named:
            found[name] = (ours, theirs)
    return found


def test_small_configs_of_every_family_agree_exactly() -> None:
    """Defect: the numbers that the fast tests hold are our own, not the models'."""
    counts = program("transformers_counts.py", str(HERE / "families.json"))
    assert len(counts) > 20
    assert differing(counts, 0.0) == {}


def test_genuine_configs_agree_with_the_models_built_from_them(shared_data: Path) -> None:
    files = sorted(str(each) for each in (shared_data / "configs").glob("*.json"))
    counts = program("transformers_counts.py", *files)
    assert len(counts) > 20
    assert differing(counts, 1e-5) == {}


def test_class_defaults_agree_or_say_what_is_unknown() -> None:
    """Defect: a model type read with another's habits, and nothing said of it."""
    counts = program("transformers_counts.py", "--defaults")
    assert len(counts) > 150
    # Two build their audio and image projections into the language model.
    assert set(differing(counts, 1e-3)) <= {"moss_transcribe_diarize", "phi4_multimodal"}


def test_the_table_of_class_defaults_is_what_transformers_has() -> None:
    """Defect: a new Transformers changed a default (run transformers_defaults.py --write)."""
    assert program("transformers_defaults.py") == []
