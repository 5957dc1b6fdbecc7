"""Held-out rows: figures that can be worked out by hand, and errors that are found where they are."""

from __future__ import annotations

import csv
import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from skills.validate_cache.schema import FidelityReport
    from tests.validate_cache.conftest import Lab

WORKSPACE_KIND = '''"""`bucketed`: as rms_norm, launched padded."""
from dataclasses import replace

from servingsim.timing.kernels.rms_norm import KERNEL as NORM

KERNEL = replace(NORM, kind="bucketed", profile_kind="rms_norm", cache="direct_1d")
'''


def statuses(report: FidelityReport) -> dict[str, str]:
    return {each.id: each.status for each in report.criteria}


def test_the_figures_of_rows_beside_the_grid_are_those_worked_out_by_hand(off_grid: Lab) -> None:
    """Defect: a figure over the wrong probes, an arithmetic instead of a log-symmetric bar, a leaked truth."""
    report = off_grid.validate(seed=3)
    interior = {
        probe.args["num_tokens"]: probe.ratio for probe in report.probes if probe.region == "interior"
    }
    assert interior == {
        2: pytest.approx(1.0),
        8: pytest.approx(1.1),
        24: pytest.approx(1.3),
        48: pytest.approx(1.0),
    }
    assert (report.judged.probes, report.judged.measured) == (4, 4)
    assert report.judged.within_rate == 0.75
    assert report.judged.median_ratio == pytest.approx(1.05)
    assert report.judged.worst_ratio == pytest.approx(1.3)
    assert report.judged.worst_at == "num_tokens=24 hidden_size=64 dtype=bf16"
    assert (report.verdict, report.status) == ("fail", "fail")
    assert statuses(report)["R.4-within"] == "fail"
    assert statuses(report)["R.4-regions"] == "pass"


@pytest.mark.slow
@pytest.mark.long
def test_a_bar_is_the_same_factor_up_and_down(off_grid: Lab) -> None:
    """Defect: |ratio - 1| would allow 1 / 1.1 at a bar of 0.1 and refuse 1.1."""
    assert off_grid.validate(bar=0.1000001).judged.within_rate == 0.75
    assert off_grid.validate(bar=0.0999).judged.within_rate == 0.5
    assert off_grid.validate(bar=0.31).verdict == "pass"


def test_both_ends_of_the_axis_are_held_out_and_judged_apart(off_grid: Lab) -> None:
    """Defect: extrapolated probes in the judged figures, or a side that nobody asked about."""
    report = off_grid.validate()
    assert {region.name for region in report.regions} == {
        "interior",
        "below_num_tokens",
        "above_num_tokens",
    }
    assert report.outside.probes == 2
    assert all(probe.flags == ["EXTRAPOLATED"] for probe in report.probes if probe.region != "interior")
    assert statuses(report)["R.4-probes"] == "pass"


def test_the_fastest_row_held_out_is_no_floor_for_its_own_prediction(lab: Lab) -> None:
    """Defect: the floor under extrapolation is the truth itself, and the side below looks perfect."""
    lab.put({at: straight_ms_below(at) for at in (1, 4, 16, 32, 64)})
    below = next(probe for probe in lab.validate().probes if probe.region == "below_num_tokens")
    assert below.ratio is not None
    assert below.ratio > 2


def straight_ms_below(num_tokens: int) -> float:
    """The smallest shape is much faster than its neighbour's rate lets expect."""
    return 0.01 if num_tokens == 1 else 1.0 + num_tokens / 100


def test_without_rows_beside_the_grid_every_inner_point_is_held_out_once(lab: Lab) -> None:
    """Defect: a point that is never asked, or asked of a fit that holds it."""
    lab.put({at: 1.0 + at / 100 for at in (1, 4, 16, 32, 64)})
    report = lab.validate()
    asked = sorted(probe.args["num_tokens"] for probe in report.probes)
    assert asked == [1, 4, 16, 32, 64]
    assert report.verdict == "pass"


def test_a_bad_bucket_is_named_quantisation_with_its_remedy(off_grid: Lab) -> None:
    """Defect: a cache of buckets whose error is called interpolation, with a remedy that does not help."""
    folder = off_grid.desk.workspace / "servingsim" / "timing" / "kernels"
    folder.mkdir(parents=True)
    (folder / "bucketed.py").write_text(WORKSPACE_KIND)
    report = off_grid.validate(kind="bucketed", bar=0.05)
    assert report.quantised
    assert [each.name for each in report.failures if each.judged] == ["quantisation"]
    assert "add a bucket at num_tokens=" in report.failures[0].remedy
    assert "profiling run rms_norm" in report.failures[0].remedy
    interior = {p.args["num_tokens"]: p.cache_ms for p in report.probes if p.region == "interior"}
    assert interior[24] == pytest.approx(1.32)  # the next bucket, 32


def test_a_second_cache_is_judged_over_the_same_truths(lab: Lab) -> None:
    """Defect: a comparison over other probes, or one that is the first cache's figures again."""
    lab.put({at: 1.0 + at / 100 for at in (1, 4, 16, 32, 64)})
    report = lab.validate(compare_cache="direct_1d")
    assert report.compare is not None
    assert report.compare.name == "direct_1d"
    assert report.compare.measured == report.judged.measured == 3
    assert report.judged.worst_ratio == pytest.approx(1.0)
    # 32 held out is answered by 64: 1.64 / 1.32.
    assert report.compare.worst_ratio == pytest.approx(1.64 / 1.32)


def test_an_untrusted_truth_is_listed_as_missing_and_counts_neither_way(lab: Lab) -> None:
    """Defect: missing truths counted as good, or silently left out."""
    lab.put({at: 1.0 + at / 100 for at in (1, 4, 16, 32, 64)})
    lab.put({2: 1.02, 8: 1.08, 24: 1.24, 48: 1.48})
    lab.put({at: 1.0 + at / 100 for at in (1, 4, 16, 32, 64)}, backend="slow")
    lab.put({2: 0.9}, backend="other")  # picked nowhere inside: it has one row
    report = lab.validate(backends=["torch", "slow"])
    assert all(probe.missing == "" for probe in report.probes)
    spoiled = report.model_dump(mode="json")
    probe = next(each for each in spoiled["probes"] if each["region"] == "interior")
    probe.update(truth_ms=None, truths={}, ratio=None, truth_cv=None, missing="cannot be trusted: drift")
    from skills.validate_cache.facts import Facts  # noqa: PLC0415 - only here
    from skills.validate_cache.schema import FidelityReport  # noqa: PLC0415

    again = FidelityReport.of(Facts.model_validate({name: spoiled[name] for name in Facts.model_fields}))
    assert again.judged.measured == again.judged.probes - 1
    assert again.judged.within_rate == 1.0
    assert statuses(again)["R.4-within"] == "unverified"
    assert "1 missing: num_tokens=" in next(c.evidence for c in again.criteria if c.id == "R.4-truth")


def test_the_cost_of_a_wrong_pick_is_told_in_true_time(lab: Lab) -> None:
    """Defect: regret from cache times, which always say that the pick was right."""
    lab.put({at: 1.0 + at / 100 for at in (1, 4, 16, 32, 64)})
    lab.put({at: 1.1 + at / 100 for at in (1, 4, 16, 32, 64)}, backend="other")
    lab.put({2: 1.02, 8: 1.08, 24: 1.24, 48: 1.48})
    lab.put({2: 1.12, 8: 1.18, 24: 0.62, 48: 1.58}, backend="other")
    report = lab.validate()
    assert report.regret.wrong == 1
    assert report.regret.worst_cost == pytest.approx(2.0)
    assert report.regret.worst_at.startswith("num_tokens=24 ")


def test_a_deviation_within_the_noise_fails_nothing_and_passes_nothing(lab: Lab) -> None:
    """Defect: a busy machine makes a good cache fail, or a loud truth makes a bad one pass."""
    lab.put({at: 1.0 + at / 100 for at in (1, 4, 16, 32, 64)}, cv=0.2)
    lab.put({at: (1.0 + at / 100) / 1.3 for at in (2, 8, 24, 48)}, cv=0.2)
    report = lab.validate()
    assert report.verdict == "unverified"
    assert [each.name for each in report.failures if each.judged] == ["noise"]
    assert statuses(report)["R.4-noise"] == "unverified"


def test_a_failing_cache_asks_the_user_which_remedy(off_grid: Lab) -> None:
    """Defect: a costly remedy without the user's word, or a question where the share justifies none."""
    asked = off_grid.validate()
    assert statuses(asked)["R.4-remedy"] == "needs_decision"
    assert asked.open_decisions[0].id == "remedy"
    assert statuses(off_grid.validate(decisions={"remedy": "accept"}))["R.4-remedy"] == "pass"
    minor = off_grid.validate(share=0.001)
    assert (minor.depth, statuses(minor)["R.4-remedy"]) == ("quick", "pass")
    with pytest.raises(ServingSimError, match="no remedy"):
        off_grid.validate(decisions={"remedy": "ignore"})


def test_the_csv_holds_every_probe_under_the_hash_that_the_report_gives(off_grid: Lab) -> None:
    """Defect: a person inspects a file that is not what was judged."""
    report = off_grid.validate()
    path = Path(report.csv_path)
    assert path.parent == off_grid.desk.state / "fidelity"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == report.csv_sha256
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["ratio"]) for line in lines] == [probe.ratio for probe in report.probes]
    assert {line["within"] for line in lines if float(line["ratio"]) > 1.15} == {"false"}
    assert not list(path.parent.glob("*.partial"))


def test_the_users_database_is_byte_for_byte_as_it_was(off_grid: Lab) -> None:
    """Defect: a probe's truth in the fit, which hides the error at that shape."""
    before = off_grid.desk.db.read_bytes()
    report = off_grid.validate()
    assert off_grid.desk.db.read_bytes() == before
    assert statuses(report)["R.4-user-db"] == "pass"
    assert report.database.before == hashlib.sha256(before).hexdigest()


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        ({"kind": "rms_nrom"}, "E_NOT_FOUND", "rms_norm"),
        ({"config": {"gpu_name": "lab", "hidden_size": 64}}, "E_INPUT", "dtype: missing"),
        ({"config": {"gpu_name": "lab", "hidden_size": 128, "dtype": "bf16"}}, "E_COVERAGE", "no rows"),
        ({"compare_cache": "linear_3d"}, "E_NOT_FOUND", "linear_1d"),
        ({"compare_cache": "linear_2d"}, "E_STATE", "axes"),
        ({"db": "../elsewhere.db"}, "E_PATH", "outside"),
        ({"truth": "measure"}, "E_NO_GPU", "holdout"),
        ({"truth": "measure", "probes": [{"num_tokens": 0}]}, "E_INPUT", "probes[0]"),
    ],
)
def test_what_cannot_be_validated_is_refused_before_anything_is_written(
    off_grid: Lab, fields: dict[str, object], code: str, says: str
) -> None:
    """Defect: a traceback, a refusal without the next step, files left behind."""
    with pytest.raises(ServingSimError) as caught:
        off_grid.validate(**fields)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert not list(off_grid.desk.workspace.rglob("*.csv"))


def test_too_few_rows_to_hold_any_out_are_refused(lab: Lab) -> None:
    """Defect: a verdict from a fit of one row."""
    lab.put({1: 1.0, 4: 1.1, 16: 1.2})
    with pytest.raises(ServingSimError, match="too few to leave any out"):
        lab.validate()


def test_a_broken_workspace_kernel_is_refused_and_never_imported_here(off_grid: Lab) -> None:
    """Defect: an agent's file runs in the process that judges it."""
    folder = off_grid.desk.workspace / "servingsim" / "timing" / "kernels"
    folder.mkdir(parents=True)
    marker = off_grid.desk.workspace / "ran"
    (folder / "evil.py").write_text(
        f"import os, pathlib\npathlib.Path({str(marker)!r}).write_text(str(os.getpid()))\nraise ValueError\n"
    )
    import os  # noqa: PLC0415 - only here

    with pytest.raises(ServingSimError, match="cannot be loaded"):
        off_grid.validate()
    assert marker.read_text() != str(os.getpid())


def test_log_and_bar_agree() -> None:
    """Defect: a bar of 15 % that is 15 % of the logarithm."""
    from skills.validate_cache.figures import log_bar  # noqa: PLC0415 - only here

    assert log_bar(0.15) == pytest.approx(math.log(1.15))
