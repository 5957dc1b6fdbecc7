"""Rows of any decoder from its facts, without a trace: what is launched, on which kind, with which args."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from servingsim.archs.models import bundled
from servingsim.errors import ServingSimError
from skills.split_model.catalogue.find import catalogues
from skills.split_model.general import general_model
from skills.split_model.kinds import known_kinds
from skills.split_model.model_input import model_on_stack
from skills.split_model.overrides import INDEXED
from skills.split_model.references import reference_of_general
from skills.split_model.row_work import row_work
from skills.split_model.schema import DEFAULT_PHASES, SplitRequest
from skills.split_model.ways import drafts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from skills.desk import Desk
    from skills.split_model.draft import Draft

    RowsOf = Callable[..., list[Draft]]

FAMILIES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "explore" / "families.json").read_text(encoding="utf-8")
)
BOTH = ("prefill", "decode")


@pytest.fixture
def rows_of(desk: Desk) -> RowsOf:
    """Every row of a small model of a family."""
    known = known_kinds(desk).args

    def call(family: str, stack: str = "vllm", **more: Any) -> list[Draft]:  # noqa: ANN401 - JSON arguments
        config = FAMILIES[family] | more.pop("config", {})
        request = SplitRequest.model_validate({"config": config, "stack": stack} | more)
        return general_model(request, config, family).drafts(BOTH, known)

    return call


def named(rows: list[Draft], op: str) -> list[Draft]:
    return [row for row in rows if row.op == op]


@pytest.mark.parametrize("stack", ["vllm", "transformers"])
@pytest.mark.parametrize("model", sorted(bundled()))
def test_the_general_way_gives_a_dense_model_the_rows_of_the_dense_way(
    desk: Desk, model: str, stack: str
) -> None:
    """Defect: two decompositions of one family that drift apart."""
    tps = (1, 2) if stack == "vllm" else (1,)
    known = known_kinds(desk).args
    for tp in tps:
        request = SplitRequest.model_validate({"model": model, "stack": stack, "tp": tp})
        config = json.loads(bundled()[model].read_text(encoding="utf-8"))
        dense = drafts_of(model_on_stack(request, desk), BOTH, known)
        general = general_model(request, config, model).drafts(BOTH, known)
        assert [replace(row, covers=()) for row in general] == [replace(row, covers=()) for row in dense]


@pytest.mark.parametrize("stack", sorted(catalogues()))
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_row_of_every_family_is_whole_and_anchored(rows_of: RowsOf, family: str, stack: str) -> None:
    """Defect: a launch without a source, a slot that names a layer, a fold in nothing, a kind without a reason."""
    rows = rows_of(family, stack)
    ops = {row.op for row in rows}
    assert [row.op for row in rows if "no entry of the catalogue" in row.source] == []
    assert [row.op for row in rows if INDEXED.search(row.op) or INDEXED.search(row.layer_class)] == []
    assert [row.op for row in rows if row.verdict == "new_kernel" and not row.why] == []
    assert [row.op for row in rows if row.verdict == "fold" and row.maps_to.host not in ops] == []
    keys = [(row.layer_class, row.op) for row in rows]
    assert len(keys) == len(set(keys))
    for phase in DEFAULT_PHASES:
        assert all(row_work(row, phase).bytes >= 0 for row in rows)


def test_experts_are_one_launch_and_their_router_two(rows_of: RowsOf) -> None:
    """Defect: expert width from intermediate_size, a router that is divided or quantised."""
    rows = rows_of("qwen3_moe", tp=2)
    experts = named(rows, "moe.experts")
    assert {(row.maps_to.kind, row.maps_to.args["moe_tp_size"]) for row in experts} == {("fused_moe", 2)}
    assert {row.maps_to.args["inter_size"] for row in experts} == {
        FAMILIES["qwen3_moe"]["moe_intermediate_size"]
    }
    assert {row.maps_to.args["n"] for row in named(rows, "moe.router")} == {
        experts[0].maps_to.args["num_experts"]
    }
    assert named(rows, "moe.topk")
    assert named(rows, "moe.all_reduce")
    assert not named(rows, "moe.dispatch")


def test_tokens_travel_where_experts_lie_on_more_ranks_than_share_the_tokens(rows_of: RowsOf) -> None:
    """Defect: an all-to-all that nobody pays, or experts that see the tokens of one rank only."""
    rows = rows_of("qwen3_moe", tp=1, ep=4)
    assert named(rows, "moe.combine")
    assert {row.maps_to.args["num_ranks"] for row in named(rows, "moe.dispatch")} == {4}
    assert {row.width for row in named(rows, "moe.experts")} == {4.0}
    assert {row.maps_to.args["moe_ep_size"] for row in named(rows, "moe.experts")} == {4}


@pytest.mark.parametrize(
    ("stack", "kinds", "more_bytes"),
    [
        ("vllm", ("all_gather", "reduce_scatter"), lambda sizes: 2 * sizes["num_experts"]),
        ("sglang", ("all_gather", "reduce_scatter"), lambda _sizes: 0),
        ("trtllm", ("all_gather", "reduce_scatter"), lambda sizes: 8 * sizes["topk"]),
    ],
)
def test_replicas_give_each_other_what_their_engine_gives(
    rows_of: RowsOf, stack: str, kinds: tuple[str, str], more_bytes: Callable[[dict[str, Any]], int]
) -> None:
    """Defect: an all-to-all that no engine runs by default, or a message that forgets what the router said."""
    rows = rows_of("qwen3_moe", stack, tp=1, ep=4)
    (there,), (back,), (experts,) = (
        named(rows, f"moe.{name}") for name in ("dispatch", "combine", "experts")
    )
    assert (there.maps_to.kind, back.maps_to.kind) == kinds
    assert there.width == back.width + more_bytes(experts.maps_to.args)
    assert (there.counted, back.counted, experts.counted) == ("gathered", "gathered", "pooled")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"tp": 4, "ep": 3}, "ep 3 with tp 4"),
        ({"tp": 3}, "cannot be divided by tp 3"),
        ({"ep": 3}, "cannot be divided"),
    ],
)
def test_a_parallelism_that_does_not_divide_is_refused_with_both_numbers(
    rows_of: RowsOf, arguments: dict[str, int], text: str
) -> None:
    """Defect: a rank with a part of a head or of an expert."""
    with pytest.raises(ServingSimError, match="divide") as caught:
        rows_of("qwen3_moe", **arguments)
    assert text in f"{caught.value}"


def test_latents_are_expanded_in_prefill_and_absorbed_in_decode(rows_of: RowsOf) -> None:
    """Defect: decode that pays for the expansion of the whole context, or prefill that does not pay for it."""
    served, eager = rows_of("deepseek_v3"), rows_of("deepseek_v3", "transformers")
    expanded = named(served, "attention.kv_b_proj")[0]
    prefill, decode = DEFAULT_PHASES
    assert (expanded.count(decode), expanded.count(prefill)) == (0, 2048)
    absorbed = named(served, "attention.q_absorb")[0]
    assert absorbed.maps_to.kind == "grouped_gemm"
    assert (absorbed.count(prefill), absorbed.count(decode)) == (
        0,
        64 * int(absorbed.maps_to.args["num_groups"]),
    )
    assert named(eager, "attention.kv_b_proj")[0].count(decode) == 64 * 2049
    assert not named(eager, "attention.q_absorb")


def test_only_experts_are_packed_where_the_quantisation_says_so(rows_of: RowsOf) -> None:
    """Defect: attention priced in the dtype of the experts."""
    rows = rows_of("gpt_oss")
    packed = {row.op for row in rows if row.maps_to.args.get("dtype") == "mxfp4"}
    assert packed in ({"moe.experts"}, set())
    windows = {row.layer_class: row.maps_to.args["window_size"] for row in named(rows, "attention.decode")}
    assert sorted(bool(window) for window in windows.values()) == [False, True]


def test_experts_of_two_matrices_are_no_fused_moe(rows_of: RowsOf) -> None:
    """Defect: a kind reused whose work is half as large again."""
    rows = rows_of("nemotron_h")
    assert not named(rows, "moe.experts")
    assert {row.maps_to.kind for row in named(rows, "moe.experts_up") + named(rows, "moe.experts_down")} == {
        "grouped_gemm"
    }


def test_chunks_are_no_window(rows_of: RowsOf) -> None:
    """Defect: reuse that changes what window_size means."""
    rows = [row for row in rows_of("llama4") if row.op == "attention.prefill"]
    chunked = [row for row in rows if row.maps_to.args["window_size"]]
    assert {(row.verdict, row.maps_to.kind) for row in chunked} == {
        ("new_kernel", "chunked_attention_prefill")
    }
    assert "window_size" in chunked[0].why
    assert {row.maps_to.until_then for row in chunked} == {"attention_prefill"}


def test_one_launch_that_rotates_and_appends_is_one_row(rows_of: RowsOf) -> None:
    """Defect: one kernel counted as two, or two as one."""
    ops = {row.op for row in rows_of("qwen3_moe", "trtllm")}
    assert "attention.rope_append" in ops
    assert not {"attention.rope", "attention.kv_append"} & ops
    assert {"attention.rope", "attention.kv_append"} <= {row.op for row in rows_of("qwen3_moe", "sglang")}


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("qwen3_moe", "Qwen3-MoE"),
        ("gpt_oss", "Qwen3-MoE"),
        ("deepseek_v3", "DeepSeek-V3"),
        ("qwen3_next", "Qwen3-Next"),
        ("nemotron_h", "Nemotron-H"),
        ("gemma2", "plain Llama"),
    ],
)
def test_the_nearest_reference_is_named_with_what_differs(family: str, name: str) -> None:
    """Defect: verdicts reused from a decomposition of another kind of model."""
    config = FAMILIES[family]
    found = reference_of_general(general_model(SplitRequest(config=config), config, family))
    assert name in found.name
    if family == "gpt_oss":
        assert any(text.startswith("sinks") for text in found.differing)
        assert any("attention.qkv_bias" in text for text in found.differing)


def test_anchors_in_transformers_are_there() -> None:
    """Defect: a source that was renamed, or never was."""
    package = find_spec("transformers")
    if package is None or package.origin is None:
        pytest.skip("transformers is not installed")
    root = Path(package.origin).parent
    for launch in catalogues()["transformers"].launches.values():
        text = (root / launch.file.removeprefix("src/transformers/")).read_text(encoding="utf-8")
        for part in launch.symbol.split("."):
            assert f"class {part}" in text or f"def {part}" in text, launch


def test_layers_that_share_keys_project_and_append_none(rows_of: RowsOf) -> None:
    """Defect: keys and values that are computed once and paid for in every layer."""
    rows = rows_of("gemma4_small")
    classes = {row.layer_class for row in named(rows, "attention.decode")}
    appending = {row.layer_class for row in named(rows, "attention.kv_append")}
    assert appending < classes
    sharing = classes - appending
    assert not [
        row
        for row in rows
        if row.layer_class in sharing and row.op in {"attention.k_norm", "attention.v_norm"}
    ]
    widths = {row.layer_class: row.maps_to.args["n"] for row in named(rows, "attention.qkv_proj")}
    assert {widths[each] for each in sharing}.isdisjoint({widths[each] for each in appending})


def test_norms_behind_sections_fold_no_residual(rows_of: RowsOf) -> None:
    """Defect: an addition folded into a norm that the family does not have."""
    rows = rows_of("llama", config={"model_type": "olmo2"})
    assert {row.verdict for row in rows if row.op.endswith("residual_add")} == {"elementwise"}
    assert {"attention.post_norm", "mlp.post_norm"} <= {row.op for row in rows}
    assert not named(rows, "attention.norm")
