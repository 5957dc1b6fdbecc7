"""Tables of LLMServingSim that are anything but tables."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from profiling.importers.llmservingsim import IMPORTER
from profiling.store import Store
from servingsim.errors import ServingSimError
from tests.profiling_importers.tiny_profile import TABLES, TinyProfile, tiny_profile

pytest.importorskip("yaml")

KINDS = ("single_gemm", "rms_norm", "elementwise", "attention_mixed", "fused_moe")
CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "-1",
            "8",
            "nan",
            "inf",
            "1e400",
            "2147483648",
            "9" * 30,
            "0x8",
            " 4",
            '"',
            "o_proj",
            "é",
        ]
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=6),
)
LINES = st.lists(st.lists(CELLS, max_size=6).map(",".join), max_size=6)
CONTENT = st.one_of(
    st.binary(max_size=200),
    LINES.map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass")),
    st.tuples(st.sampled_from(sorted(TABLES)), LINES).map(
        lambda drawn: "\n".join([TABLES[drawn[0]][0], *drawn[1]]).encode("utf-8", "surrogatepass")
    ),
)


def rows_taken(store: Store, profile: TinyProfile) -> int | None:
    """None for a refusal; any other exception is a defect."""
    try:
        return IMPORTER.run(store, folder=str(profile.folder), config=[str(profile.config)]).rows_kept
    except ServingSimError:
        return None


@given(name=st.sampled_from(sorted(TABLES)), content=CONTENT)
@example(name="attention.csv", content=b"\x00")
@example(name="dense.csv", content=b"layer,tokens,time_us\n" + b"x" * 200_000)
@example(name="moe.csv", content=b"tokens,activated_experts,time_us\n2147483648,4,1\n0,0,1\n")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_file_of_anything_is_an_import_or_a_refusal(name: str, content: bytes) -> None:
    """Defect: a traceback for a damaged file, or rows written before the damage was seen."""
    with tempfile.TemporaryDirectory() as root:
        profile = tiny_profile(Path(root))
        profile.table(name).write_bytes(content)
        with Store.open(Path(root) / "times.db", create=True) as store:
            taken = rows_taken(store, profile)
            assert store.path.exists() == (taken is not None)
            if taken is not None:
                assert taken == sum(len(store.rows(kind)) for kind in KINDS)
