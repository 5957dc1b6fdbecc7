"""What a claim must hold before it is one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from benchmarks.accuracy.contract import keys_of, refuse_fitted_on_judged
from servingsim.errors import ServingSimError
from tests.accuracy_claims.promised import claim, record

RUNS = keys_of("runs", [("run", 1), ("run", 2)])
OTHERS = keys_of("runs", [("run", 3)])


@pytest.mark.parametrize(
    ("fitted_on", "judged_on", "shared"),
    [
        ({"a", "rows of h100"}, {"b", "rows of h100"}, ["rows of h100"]),
        (RUNS | OTHERS, OTHERS, sorted(OTHERS)),
        ({"runs"}, OTHERS, sorted(OTHERS)),
        (OTHERS, {"runs"}, sorted(OTHERS)),
    ],
    ids=["one row set", "one key", "fitted on the whole table", "judged on the whole table"],
)
def test_a_claim_that_was_fitted_on_what_it_is_judged_on_is_refused_with_its_name_and_the_rows(
    fitted_on: set[str], judged_on: set[str], shared: list[str]
) -> None:
    """Defect: a figure of rows that a fit has seen is published as an error on work not seen."""
    claims = [claim("honest"), claim("seen", fitted_on=fitted_on, judged_on=judged_on)]
    with pytest.raises(ServingSimError) as refused:
        refuse_fitted_on_judged(claims)
    assert refused.value.code == "E_STATE"
    assert refused.value.what == f"seen is judged on what was fitted: {', '.join(shared)}"


def test_many_shared_rows_are_counted_and_only_the_first_are_named() -> None:
    """Defect: a refusal of ten thousand hashes, or one that hides how many there are."""
    keys = keys_of("rows", range(8))
    with pytest.raises(ServingSimError, match=r"(rows/[0-9a-f]{16}(, )?){3} and 5 more"):
        refuse_fitted_on_judged([claim(fitted_on=keys, judged_on=keys)])


def test_other_rows_of_a_table_and_tables_whose_names_begin_alike_are_not_shared() -> None:
    """Defect: an honest split of one table is refused, or `h100` for `h100_sxm`."""
    refuse_fitted_on_judged(
        [
            claim(fitted_on=RUNS, judged_on=OTHERS),
            claim(fitted_on={"rows/h100"}, judged_on={"rows/h100_sxm", "rows/h200"}),
            claim(fitted_on=set()),
        ]
    )


def test_the_key_of_a_row_is_the_same_in_every_process() -> None:
    """Defect: keys from a salted hash never meet those that were kept, and no overlap shows."""
    assert keys_of("runs", [("run", 1)]) == {"runs/42eaab94d1618646"}
    assert len(RUNS | OTHERS) == 3


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"figures": {"gemm_mape": 1.0}, "targets": {}}, "'gemm_mape' does not end in a unit: percent, "),
        ({"figures": {"percent": 1.0}, "targets": {}}, "'percent' does not end in a unit"),
        ({"figures": {}, "targets": {}}, "figures"),
        ({"figures": {"a_percent": math.nan}, "targets": {}}, "'a_percent' is nan"),
        ({"targets": {"gemm_p95_percent": 9.0, "other_ms": 1.0}}, "no figure: gemm_p95_percent, other_ms"),
        ({"targets": {"gemm_mape_percent": math.nan}}, "target of 'gemm_mape_percent' is nan"),
        ({"targets": {"gemm_mape_percent": -4.0}}, "target of 'gemm_mape_percent' is -4.0"),
        ({"records": (record("other"),)}, "records of another claim: other"),
        ({"judged_on": set()}, "judged_on"),
        ({"id": "Gemm H100"}, "id"),
        ({"headline": "better than all"}, "headline"),
    ],
)
def test_a_claim_that_lacks_a_unit_a_figure_or_a_target_that_can_be_met_is_refused(
    fields: dict[str, Any], told: str
) -> None:
    """Defect: figures nobody can read, targets that nothing is held to, errors of work that was not judged."""
    with pytest.raises(ValidationError) as refused:
        claim(**fields)
    assert told in str(refused.value)


def test_a_target_is_missed_by_magnitude_and_met_where_it_is_just_reached() -> None:
    """Defect: a prediction 30 % too low meets a target of 4 % because it is below it."""
    figures = {"a_percent": -30.0, "b_percent": -4.0, "c_percent": 4.5, "d_percent": 99.0, "e_points": 0.0}
    targets = {"a_percent": 4.0, "b_percent": 4.0, "c_percent": 4.0, "e_points": 0.0}
    assert claim(figures=figures, targets=targets).missed == {"a_percent": 26.0, "c_percent": 0.5}
