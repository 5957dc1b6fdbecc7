"""Profiles of LLMServingSim that are damaged, or another model's: refused with file and place, and nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from profiling.importers.llmservingsim import IMPORTER
from servingsim.errors import ServingSimError
from tests.profiling_importers.tiny_profile import TABLES, TinyProfile, tiny_profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from profiling.store import Store

pytest.importorskip("yaml")


@pytest.fixture
def profile(tmp_path: Path) -> TinyProfile:
    """The made-up profile."""
    return tiny_profile(tmp_path)


def refusal(store: Store, profile: TinyProfile, configs: Sequence[Path] | None = None) -> ServingSimError:
    """Why the import was refused; the store has no file then, since it did not exist before."""
    paths = [str(path) for path in (configs or [profile.config])]
    with pytest.raises(ServingSimError) as caught:
        IMPORTER.run(store, folder=str(profile.folder), config=paths)
    assert not store.path.exists()
    return caught.value


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("dense.csv", "o_proj,8,2.5", "o_proj,8,nan", "line 3: time_us is nan"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8,-2.5", "line 3: time_us is -2.5"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8,0", "line 3: time_us is 0"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8,inf", "line 3: time_us is inf"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8,", "line 3: time_us is ''"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8,4e9", "line 3: time_us is 4e9"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,nan,2.5", "line 3: tokens is nan"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,-8,2.5", "line 3: tokens is -8"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8.5,2.5", "line 3: tokens is 8.5"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,1_0,2.5", "line 3: tokens is '1_0'"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8", "line 3: 2 values"),
        ("dense.csv", "o_proj,8,2.5", "o_proj,8,2.5,1", "line 3: 4 values"),
        ("dense.csv", "o_proj,8,2.5", "out_proj,8,2.5", "unknown layer 'out_proj'"),
        ("dense.csv", "layer,tokens,time_us", "layer,tokens,time_ms", "has no column time_us"),
        ("dense.csv", "layer,tokens,time_us", "layer,time_us,time_us", "has no column tokens"),
        ("per_sequence.csv", "layer,sequences", "layer,tokens", "has no column sequences"),
        ("attention.csv", "n_decode", "decodes", "has no column n_decode"),
        ("attention.csv", "16,32,2,64,9", "16,32,2,64,NaN", "line 4: time_us is NaN"),
        ("attention.csv", "16,32,2,64,9", "16,32,2,-64,9", "line 4: kv_decode is -64"),
        ("moe.csv", "activated_experts", "experts", "has no column activated_experts"),
        ("moe.csv", "4,4,80", "4,4,-80", "line 11: time_us is -80"),
    ],
)
def test_a_value_that_is_none_is_refused_with_its_file_line_and_column(
    store: Store, profile: TinyProfile, name: str, old: str, new: str, why: str
) -> None:
    """Defect: a NaN or a negative time in the store, a renamed column read as another, half a profile imported."""
    profile.change(name, old, new)
    error = refusal(store, profile)
    assert error.what.startswith(why)
    assert error.path == str(profile.table(name))
    assert error.known
    assert error.hint


def test_a_column_that_is_there_twice_is_refused(store: Store, profile: TinyProfile) -> None:
    """Defect: the first of two columns of one name taken in silence."""
    profile.write("dense.csv", ["layer,tokens,time_us,time_us", "o_proj,8,2.5,99"])
    error = refusal(store, profile)
    assert (error.what, error.path) == ("has time_us twice", str(profile.table("dense.csv")))


def test_a_table_without_rows_is_refused(store: Store, profile: TinyProfile) -> None:
    """Defect: a copy that broke off after the header taken for a profile without attention."""
    profile.write("attention.csv", TABLES["attention.csv"][:1])
    error = refusal(store, profile)
    assert (error.what, error.path) == ("holds no row", str(profile.table("attention.csv")))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("0,0,0,0,5", "q_len 0 is decodes alone"),
        ("0,32,2,64,5", "q_len 0 is decodes alone"),
        ("16,0,2,0,5", "num_decodes and kv_len are both 0, or neither"),
        ("16,0,0,64,5", "num_decodes and kv_len are both 0, or neither"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(store: Store, profile: TinyProfile, row: str, why: str) -> None:
    """Defect: a time for a launch of nothing, or of a part without length."""
    profile.write("attention.csv", [*TABLES["attention.csv"], row])
    error = refusal(store, profile)
    assert why in error.what
    assert error.path == "TINY/made/up/bf16/tp1/attention.csv"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"num_attention_heads": 8}, "num_attention_heads 8 over tp 1, profiled 4"),
        ({"vocab_size": 101}, "vocab_size 101 over tp 1, profiled 100"),
        ({"num_attention_heads": 8, "intermediate_size": 96}, "intermediate_size 96 over tp 1, profiled 80"),
    ],
)
def test_another_models_config_is_refused_with_the_difference(
    store: Store, profile: TinyProfile, changes: dict[str, Any], why: str
) -> None:
    """Defect: a profile's times stored under the shapes of another model."""
    error = refusal(store, profile, [profile.configure(changes)])
    assert error.what == "0 of 1 configs fit the profile of made/up"
    assert why in error.known


def test_of_two_configs_the_fitting_one_is_taken_and_two_that_fit_are_refused(
    store: Store, profile: TinyProfile
) -> None:
    """Defect: the first config taken for every profile."""
    twin = profile.configure({"hidden_size": 128}, "twin.json")
    assert "2 of 2 configs fit" in refusal(store, profile, [profile.config, twin]).what
    other = profile.configure({"num_attention_heads": 8}, "other.json")
    IMPORTER.run(store, folder=str(profile.folder), config=[str(other), str(profile.config)])
    assert {row["num_heads"] for row in store.rows("attention_mixed")} == {4}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, "\ud800", '{"hidden_size": 1' + "0" * 400 + "}"]
)
def test_a_config_that_is_none_is_refused(store: Store, profile: TinyProfile, text: str) -> None:
    """Defect: a file of brackets or of endless numbers ends in a traceback."""
    profile.config.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert str(profile.config) in str(refusal(store, profile).path)


def test_experts_of_a_model_that_has_none_are_refused(store: Store, profile: TinyProfile) -> None:
    """Defect: a division by no experts, or moe.csv left out in silence."""
    profile.configure({"num_experts": 0})
    error = refusal(store, profile)
    assert error.what == "holds experts, the config none"
    assert error.path == str(profile.table("moe.csv"))


def test_heads_that_cannot_be_divided_are_refused(store: Store, profile: TinyProfile) -> None:
    """Defect: three KV heads over two ranks become one each."""
    meta = profile.home / "meta.yaml"
    meta.write_text(meta.read_text(encoding="utf-8").partition("engine_effective")[0], encoding="utf-8")
    profile.configure({"num_key_value_heads": 3})
    profile.write("dense.csv", TABLES["dense.csv"], "tp2")
    assert "num_key_value_heads 3 cannot be divided by tp 2" in refusal(store, profile).what


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("gpu: Tiny GPU 9", "board: Tiny", "does not say gpu"),
        ("vllm_version: 0.19.0", "", "does not say vllm_version"),
        ("variant: bf16", "variant: fp8", "variant 'fp8'"),
    ],
)
def test_a_profile_that_does_not_say_what_it_is_is_refused(
    store: Store, profile: TinyProfile, old: str, new: str, why: str
) -> None:
    """Defect: rows without a device or a version, or quantised times among those of bf16."""
    meta = profile.home / "meta.yaml"
    meta.write_text(meta.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    error = refusal(store, profile)
    assert error.what.startswith(why)
    assert error.path == str(meta)


def test_a_folder_without_profiles_or_tables_is_refused(store: Store, profile: TinyProfile) -> None:
    """Defect: an import of nothing that looks like one that went well."""
    for name in TABLES:
        profile.table(name).unlink()
    assert refusal(store, profile).what == "holds no table"
    (profile.home / "meta.yaml").unlink()
    assert refusal(store, profile).code == "E_PATH"
