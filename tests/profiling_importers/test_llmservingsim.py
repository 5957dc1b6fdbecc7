"""What the rows of LLMServingSim's profiles mean, on a made-up model of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.importers.llmservingsim import IMPORTER
from tests.profiling_importers.tiny_profile import GPU, TABLES, TinyProfile, tiny_profile

if TYPE_CHECKING:
    from pathlib import Path

    from profiling.importers.report import ImportReport
    from profiling.store import Store

pytest.importorskip("yaml")

BACKEND = "vllm-0.19.0:layer"


@pytest.fixture
def profile(tmp_path: Path) -> TinyProfile:
    """The made-up profile."""
    return tiny_profile(tmp_path)


def imported(store: Store, profile: TinyProfile) -> ImportReport:
    return IMPORTER.run(store, folder=str(profile.folder), config=[str(profile.config)])


def times_ms(store: Store, kind: str, *fields: str) -> dict[tuple[Any, ...], float]:
    """Times by some of their args; two rows of one shape are a defect."""
    rows = store.rows(kind)
    found = {tuple(row[field] for field in fields): row["median_ms"] for row in rows}
    assert len(found) == len(rows)
    return found


def test_microseconds_of_named_layers_become_milliseconds_of_shapes(
    store: Store, profile: TinyProfile
) -> None:
    """Defect: a time a thousand times too long, a layer under another's shape, or a vocabulary without its padding."""
    imported(store, profile)
    assert times_ms(store, "single_gemm", "m", "n", "k") == pytest.approx(
        {
            (8, 4 * 24 + 2 * 2 * 24, 64): 0.0015,
            (8, 64, 4 * 24): 0.0025,
            (8, 2 * 80, 64): 0.0035,
            (8, 64, 80): 0.0045,
            (3, 128, 64): 0.040,
        }
    )
    assert times_ms(store, "rms_norm", "num_tokens", "hidden_size") == pytest.approx(
        {(8, 64): 0.0055, (8 * 4, 24): 0.0065}
    )
    streamed = times_ms(
        store, "elementwise", "op", "num_tokens", "input_bytes_per_token", "output_bytes_per_token"
    )
    assert streamed == pytest.approx(
        {
            ("rope", 8, 2 * 144, 2 * 144): 0.0075,
            ("silu_mul", 8, 2 * 160, 2 * 80): 0.0085,
            ("embedding", 8, 2 * 64, 2 * 64): 0.0095,
        }
    )


def test_a_row_says_whose_it_is(store: Store, profile: TinyProfile) -> None:
    """Defect: rows of another engine version, device or file that nobody can tell apart."""
    imported(store, profile)
    (row,) = (row for row in store.rows("single_gemm") if row["m"] == 3)
    assert (row["device"], row["backend"], row["dtype"]) == (GPU, BACKEND, "bf16")
    assert row["source"] == (
        "LLMServingSim profile profiles: TINY/made/up/bf16/tp1: per_sequence.csv, lm_head"
    )
    assert row["framework_version"] == "0.19.0"


def test_one_launch_keeps_both_of_its_parts(store: Store, profile: TinyProfile) -> None:
    """Defect: the decodes beside a chunk dropped, chunk and prefix exchanged, heads of the whole model on a rank."""
    imported(store, profile)
    fields = ("q_len", "prefix_len", "num_decodes", "kv_len", "num_heads", "num_kv_heads", "head_dim")
    assert times_ms(store, "attention_mixed", *fields) == pytest.approx(
        {
            (0, 0, 2, 64, 4, 2, 24): 0.005,
            (16, 0, 0, 0, 4, 2, 24): 0.006,
            (16, 32, 2, 64, 4, 2, 24): 0.009,
        }
    )


def test_experts_are_read_at_as_many_as_even_routing_hits(store: Store, profile: TinyProfile) -> None:
    """Defect: the time of all experts, or of the chosen few, for tokens that hit 4 · (1 - 1/2^tokens) of four.

    Over two ranks, one token each: both hit 1.5 of a rank's two. A rank's own share of the tokens took 15 us with
    these, all tokens 18; the row is midway. Four tokens a rank were never measured as eight: no row.
    """
    imported(store, profile)
    fields = ("moe_ep_size", "num_tokens", "num_experts", "topk", "inter_size", "moe_tp_size", "distribution")
    model = (4, 2, 32, 1, "balanced")
    assert times_ms(store, "fused_moe", *fields) == pytest.approx(
        {
            (1, 1, *model): 0.020,
            (1, 2, *model): 0.036,
            (1, 4, *model): 0.075,
            (2, 2, *model): (0.015 + 0.018) / 2,
            (2, 4, *model): (0.0225 + 0.0375) / 2,
        }
    )


def test_experts_beyond_the_measured_counts_get_no_row(store: Store, profile: TinyProfile) -> None:
    """Defect: two tokens that hit three experts answered with the time of the two that were measured."""
    profile.write("moe.csv", ["tokens,activated_experts,time_us", "2,1,12", "2,2,24", "4,3,60", "4,4,80"])
    imported(store, profile)
    assert times_ms(store, "fused_moe", "moe_ep_size", "num_tokens") == pytest.approx({(1, 4): 0.075})


def test_ranks_hold_their_share_and_what_both_hold_is_one_row(store: Store, profile: TinyProfile) -> None:
    """Defect: sizes of the whole model on each rank, or one of two times of an undivided layer lost in silence."""
    meta = profile.home / "meta.yaml"
    halves = {
        "size: 80": "size: 40",
        "heads: 4": "heads: 2",
        "value_heads: 2": "value_heads: 1",
        ": 100": ": 50",
    }
    text = meta.read_text(encoding="utf-8")
    for whole, half in halves.items():
        text = text.replace(whole, half)
    meta.write_text(text, encoding="utf-8")
    profile.write("dense.csv", ["layer,tokens,time_us", "qkv_proj,8,1", "layernorm,8,7.5"], "tp2")
    report = imported(store, profile)
    gemms = times_ms(store, "single_gemm", "m", "n", "k")
    assert gemms[8, 2 * 24 + 2 * 24, 64] == pytest.approx(0.001)
    assert gemms[8, 4 * 24 + 2 * 2 * 24, 64] == pytest.approx(0.0015)
    (norm,) = (row for row in store.rows("rms_norm") if row["hidden_size"] == 64)
    assert norm["median_ms"] == pytest.approx((0.0055 + 0.0075) / 2)
    assert (norm["p10_ms"], norm["p90_ms"]) == pytest.approx((0.0055, 0.0075))
    assert report.tables["TINY/made/up/bf16/tp2/dense.csv"].rows_merged == 1


def test_what_has_no_kind_is_counted_and_every_row_is_accounted_for(
    store: Store, profile: TinyProfile
) -> None:
    """Defect: lines of a file that nobody hears of again."""
    profile.change("dense.csv", "o_proj,8,2.5", "o_proj,8,2.5\no_proj,0,2")
    report = imported(store, profile)
    left_out = {
        reason.partition(":")[0]: rows
        for table in report.tables.values()
        for reason, rows in table.other_operations.items()
    }
    assert left_out == {"final_layernorm": 1, "sampler": 1, "nothing is computed": 1}
    assert report.rows_kept == report.inserted == 9 + 1 + 3 + 5
    for name in ("dense.csv", "per_sequence.csv", "attention.csv"):
        table = report.tables[f"TINY/made/up/bf16/tp1/{name}"]
        assert table.rows_read == len(TABLES[name]) - 1 + (name == "dense.csv")


def test_a_second_import_changes_nothing(store: Store, profile: TinyProfile) -> None:
    """Defect: rows twice in the store, or their time of writing taken for a change."""
    first = imported(store, profile)
    before = store.path.read_bytes()
    second = imported(store, profile)
    assert (second.inserted, second.updated, second.unchanged) == (0, 0, first.rows_kept)
    assert store.path.read_bytes() == before


def test_the_name_of_the_device_can_be_given(store: Store, profile: TinyProfile) -> None:
    """Defect: rows under a name that no other rows of the same GPU have."""
    IMPORTER.run(store, folder=str(profile.folder), config=[str(profile.config)], device_name="Mine")
    assert {row["device"] for row in store.rows("single_gemm")} == {"Mine"}
