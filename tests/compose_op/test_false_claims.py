"""Ops that break a rule are refused, each by the criterion that names the rule. The defect is in the test's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servingsim.errors import ServingSimError
from skills.compose_op import run as compose_run

if TYPE_CHECKING:
    from skills.compose_op.schema import ComposeReport
    from tests.compose_op.conftest import Bench

NORM_PUSH = "push_priced(ev, self.norm.name, self.norm, coordinates(TOTAL_TOKENS, batches))"
PROJ_PUSH = "push_priced(ev, self.proj.name, self.proj, coordinates(TOTAL_TOKENS, batches))"
SUM = "return Sum(tuple(leaves))"


def verdict(report: ComposeReport, name: str) -> tuple[str, str]:
    found = next(each for each in report.criteria if each.id == name)
    return found.status, found.evidence


def failed(report: ComposeReport) -> set[str]:
    return {each.id for each in report.criteria if each.status == "fail"}


def test_inv_1_a_push_for_every_request(bench: Bench) -> None:
    """A slot for each request: the report of a large batch could not be told from that of a small one."""
    many = f"for _ in range(batches.at(0).kv_len.size + 1):\n            {PROJ_PUSH}"
    report = bench.edited((PROJ_PUSH, many))
    status, seen = verdict(report, "INV-1")
    assert (status, report.status) == ("fail", "fail")
    assert "64 requests" in seen


def test_inv_1_a_leaf_minted_while_evaluating(bench: Bench) -> None:
    """An op that keeps the builder and grows the tree under a batch."""
    report = bench.edited(
        ("@dataclass(frozen=True)\nclass NormProj:", "@dataclass\nclass NormProj:"),
        ("        kernels_in_order", "        self.builder = builder\n        kernels_in_order"),
        (
            f"        {NORM_PUSH}",
            f'        self.builder.leaf(f"extra{{id(ev)}}", "single_gemm", "")\n        {NORM_PUSH}',
        ),
    )
    status, seen = verdict(report, "INV-1")
    assert status == "fail"
    assert "leaves after eval" in seen


@pytest.mark.slow
@pytest.mark.long
def test_inv_1_a_leaf_for_every_request_that_the_config_allows(bench: Bench) -> None:
    """Fixed at compile, but by the capacity: still one leaf a request."""
    many = "for i in range(self.proj.config.max_m // 64)"
    minted = f"leaves += [builder.leaf(str(i), 'single_gemm', '') {many}]"
    report = bench.edited((f"        {SUM}", f"        {minted}\n        {SUM}"))
    status, seen = verdict(report, "INV-1")
    assert status == "fail"
    assert "twice as much" in seen
    assert {"leaves", "aggregate"} <= failed(report)


def test_inv_2_slots_filled_in_another_order(bench: Bench) -> None:
    report = bench.edited((NORM_PUSH, "FIRST"), (PROJ_PUSH, NORM_PUSH), ("FIRST", PROJ_PUSH))
    status, seen = verdict(report, "INV-2")
    assert status == "fail"
    assert "pushed norm_proj.proj, norm_proj.norm" in seen


@pytest.mark.slow
@pytest.mark.long
def test_inv_2_another_order_behind_forged_names(bench: Bench) -> None:
    """The names are right, the costs are swapped: only pricing each kernel directly shows it."""
    report = bench.edited(("self.norm.name, self.norm,", "self.norm.name, self.OTHER,"), *SWAPPED)
    status, seen = verdict(report, "INV-2")
    assert status == "fail"
    assert "slot 0 (norm), 1 request: holds what proj costs" in seen


SWAPPED = (
    ("self.proj.name, self.proj,", "self.proj.name, self.norm,"),
    ("self.OTHER", "self.proj"),
)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    "edit",
    [
        (
            SUM,
            "from servingsim.timing.cost_tree import Scale\n\n        return Sum((leaves[0], Scale(2, leaves[1])))",
        ),
        (SUM, "return Sum((leaves[0],))"),
    ],
    ids=["a launch counted twice", "a leaf left out of the tree"],
)
def test_aggregate_that_differs_from_what_was_streamed(bench: Bench, edit: tuple[str, str]) -> None:
    report = bench.edited(edit)
    assert verdict(report, "aggregate")[0] == "fail"


@pytest.mark.slow
@pytest.mark.long
def test_kernels_claimed_to_overlap_are_a_question_for_the_user(bench: Bench) -> None:
    """A max hides the faster kernel's time: true only where both really run at once."""
    report = bench.edited((SUM, "return Max(tuple(leaves))"), ("Evaluator, Sum", "Evaluator, Max, Sum"))
    assert verdict(report, "aggregate")[0] == "needs_decision"
    assert bench.norm_proj(decisions={"overlap": "concurrent"}).status == "pass"


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(
            ("    max_num_tokens: int\n", "    max_num_tokens: int\n    tp: int = 1\n"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            ("OP = NormProj", "import servingsim.worklets.partition\n\nOP = NormProj"), marks=pytest.mark.long
        ),
        ("config.out_features", 'config.out_features // getattr(config, "world_size", 1)'),
    ],
    ids=["a field", "an import", "an attribute by its name"],
)
def test_inv_4_5_an_op_that_knows_the_parallel_layout(bench: Bench, edit: tuple[str, str]) -> None:
    report = bench.edited(edit)
    assert verdict(report, "INV-4.5")[0] == "fail"


def test_inv_6_1_a_collective_inside_a_compound_op(bench: Bench) -> None:
    """Nothing is written for it."""
    before = bench.files
    gather = {"slot": "gather", "kind": "all_reduce", "slot_input": "total_tokens"}
    proj = {
        "slot": "proj",
        "kind": "single_gemm",
        "slot_input": "total_tokens",
        "config": {"hidden_size": "k"},
    }
    report = bench.norm_proj(mode="scaffold", sub_kernels=[proj, gather])
    assert verdict(report, "INV-6.1") == ("fail", "gather: all_reduce is a collective")
    assert bench.files == before


def test_inv_3_5_3_an_op_that_hands_out_its_kernels_input(bench: Bench) -> None:
    report = bench.edited(
        (
            "batches: Batches, ev: Evaluator",
            "batches: Batches, ev: Evaluator, call: SingleGemmInput | None = None",
        )
    )
    assert verdict(report, "INV-3.5-3") == ("fail", "eval(call)")


def test_a_helper_that_writes_a_dimension_into_the_op(bench: Bench) -> None:
    """Right for the example, wrong for every other model."""
    report = bench.edited(('"n": config.out_features', '"n": 128'))
    status, seen = verdict(report, "config-expansion")
    assert status == "fail"
    assert "out_features 256 reaches the kernel as n 128" in seen


def test_a_kernel_kind_that_does_not_exist(bench: Bench) -> None:
    before = bench.files
    ghost = {"slot": "norm", "kind": "ghost_norm", "slot_input": "total_tokens"}
    report = bench.norm_proj(mode="scaffold", sub_kernels=[ghost, ghost | {"slot": "other"}])
    status, seen = verdict(report, "kernels-build")
    assert status == "fail"
    assert "no kernel kind 'ghost_norm'" in seen
    assert bench.files == before


def test_a_slot_input_outside_the_closed_set(bench: Bench) -> None:
    mine = {"slot": "norm", "kind": "rms_norm", "slot_input": "my_tokens"}
    report = bench.norm_proj(mode="scaffold", sub_kernels=[mine, mine | {"slot": "other"}])
    status, seen = verdict(report, "slot-inputs")
    assert status == "fail"
    assert "closed set" in seen


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
        ("import os\nos._exit(7)", "ended with code 7"),
        ("while True:\n    pass", "took longer than"),
        ("def broken(:", "invalid syntax"),
    ],
    ids=["raises", "ends its process", "hangs", "is no Python"],
)
def test_code_that_cannot_be_imported_is_a_finding_not_a_crash(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, line: str, seen: str
) -> None:
    """Defect: agent-written code that takes the judging process with it."""
    path = bench.scaffolded()[0]
    path.write_text(f"{path.read_text(encoding='utf-8')}\n\n{line}\n", encoding="utf-8")
    monkeypatch.setattr(compose_run, "TIMEOUT_S", 6.0)
    report = bench.norm_proj()
    status, text = verdict(report, "loads")
    assert status == "fail"
    assert seen in text
    assert verdict(report, "INV-1")[0] == "unverified"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("assert True", marks=pytest.mark.long),
        "x = MODULE.norm_config(CONFIG)\n    assert x == x",
        pytest.param("MODULE.norm_config(CONFIG)", marks=pytest.mark.long),
    ],
    ids=["of a constant", "of a thing with itself", "of nothing"],
)
def test_unit_tests_that_assert_nothing(bench: Bench, body: str) -> None:
    path = bench.scaffolded()[1]
    head = path.read_text(encoding="utf-8").split("def test_")[0]
    path.write_text(f"{head}def test_nothing() -> None:\n    {body}\n", encoding="utf-8")
    checked = bench.norm_proj()
    assert verdict(checked, "unit-tests")[0] == "pass"
    assert verdict(checked, "unit-tests-assert")[0] == "fail"


@pytest.mark.slow
@pytest.mark.long
def test_unit_tests_that_would_not_notice_a_broken_helper(bench: Bench) -> None:
    """They assert, but not about what one of the helpers gives."""
    path = bench.scaffolded()[1]
    text = path.read_text(encoding="utf-8").replace("MODULE.proj_config", "MODULE.norm_config")
    path.write_text(text.split("def test_proj_config_field")[0], encoding="utf-8")
    status, seen = verdict(bench.norm_proj(), "unit-tests-assert")
    assert (status, seen) == ("fail", "tests pass with proj_config emptied")


def test_unit_tests_that_end_the_run_before_they_fail(bench: Bench) -> None:
    """An exit code of 0 without a test that passed."""
    path = bench.scaffolded()[1]
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n\nimport os\n\nos._exit(0)\n", encoding="utf-8")
    assert verdict(bench.norm_proj(), "unit-tests")[0] == "fail"


def test_an_op_that_brings_a_kernel_or_changes_the_code_around_it(bench: Bench) -> None:
    report = bench.edited(("OP = NormProj", "OP = NormProj\nKernel.eval = None\nKernelKind()"))
    assert verdict(report, "scope")[0] == "fail"


def test_declared_fields_that_are_not_there(bench: Bench) -> None:
    report = bench.edited(config_fields=["gpu_name", "hidden_size", "eps"], input_fields=["q_len"])
    status, seen = verdict(report, "fields")
    assert status == "fail"
    assert "Config.eps: declared, but not there" in seen
    assert "input fields are kv_len, q_len" in seen


def test_a_check_without_an_example_says_what_is_missing(bench: Bench) -> None:
    bench.scaffolded()
    with pytest.raises(ServingSimError, match="example of its Config") as caught:
        bench.norm_proj(config_example={})
    assert caught.value.path == "config_example"
