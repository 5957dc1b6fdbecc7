"""Captured launches put on the rows of a table: by their order in a step, whatever their names leave open."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills.split_model.capture import CapturedKernel, read_capture
from skills.split_model.general import general_model
from skills.split_model.kinds import known_kinds
from skills.split_model.launch_counts import doubtful_families
from skills.split_model.placing import place
from skills.split_model.placing_order import layer_order
from skills.split_model.placing_weights import weights_of
from skills.split_model.schema import OUTSIDE, SplitRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from skills.desk import Desk
    from skills.split_model.draft import Draft
    from skills.split_model.placing_book import Placement
    from skills.split_model.schema import SplitReport

    Tables = Callable[..., "Table"]
    Launch = tuple[str, int]

SPARSE = {
    "model_type": "gpt_oss", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 128, "num_local_experts": 8,
    "num_experts_per_tok": 2, "vocab_size": 1024, "sliding_window": 128, "torch_dtype": "bfloat16",
    "layer_types": ["sliding_attention", "full_attention"] * 2, "tie_word_embeddings": False,
}  # fmt: skip
LATENT = {
    "model_type": "deepseek_v3", "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 4, "q_lora_rank": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16, "v_head_dim": 32, "intermediate_size": 512, "moe_intermediate_size": 64,
    "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1,
    "n_group": 1, "topk_group": 1, "vocab_size": 1024, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
}  # fmt: skip
NAMES = {
    "gemm": "nvjet_tst_64x64_v_bz_TNT",
    "attention": "fmhaSm100aKernel_PagedKvCausal",
    "norm": "vllm::fused_add_rms_norm_kernel<c10::BFloat16>",
    "rope": "vllm::rotary_embedding_kernel<c10::BFloat16>",
    "kv_append": "vllm::reshape_and_cache_flash_kernel",
    "activation": "vllm::act_and_mul_kernel<silu>",
    "embedding": "at::native::vectorized_gather_kernel<16, long>",
    "collective": "multimem_all_reduce_kernel<c10::BFloat16>",
    "moe": "fused_moe_kernel",
    "routing": "moe::dev::routing::routingIndicesKernel",
    "pointwise": "at::native::vectorized_elementwise_kernel<CUDAFunctor_add<c10::BFloat16>>",
}
"""One name a family, so that nothing but the order tells its rows apart."""
PREPARATION = "create_flashinfer_kv_indices_triton"


@dataclass(frozen=True)
class Table:
    """A model's rows, and where captures of it are put."""

    drafts: tuple[Draft, ...]
    order: tuple[str, ...]
    request: SplitRequest
    stack: str = "vllm"

    def place(self, file: Path, evidence: dict[str, str] | None = None) -> Placement:
        weights = weights_of(self.drafts, self.request.shapes)
        return place(
            read_capture(file), self.drafts, weights, evidence or {}, eager=self.stack == "transformers",
            order=self.order,
        )  # fmt: skip

    def run(self, phase: str, skip: Iterable[str] = ()) -> list[Launch]:
        """Name and row of every launch of one step, from the rows alone: each layer in turn, one launch a row."""
        other = {"prefill": "decode", "decode": "prefill"}[phase]
        mine = [
            index
            for index, draft in enumerate(self.drafts)
            if draft.verdict != "fold" and not draft.counted.startswith(other) and draft.op not in set(skip)
        ]
        layered = [at for name in self.order for at in mine if self.drafts[at].layer_class == name]
        first = next(at for at in mine if self.drafts[at].layer_class != OUTSIDE)
        before = [at for at in mine if self.drafts[at].layer_class == OUTSIDE and at < first]
        behind = [at for at in mine if self.drafts[at].layer_class == OUTSIDE and at > first]
        return [(self._name(at), at) for at in (*before, *layered, *behind)]

    def _name(self, at: int) -> str:
        draft = self.drafts[at]
        gathers = draft.maps_to.kind == "all_gather"
        cats = draft.maps_to.args.get("op") == "cat"
        return (
            "ncclDevKernel_AllGather_RING_LL"
            if gathers
            else "CatArrayBatchedCopy"
            if cats
            else NAMES[draft.family]
        )


@pytest.fixture
def tables(desk: Desk) -> Tables:
    def build(config: dict[str, Any], phases: Sequence[str] = ("prefill", "decode"), **request: Any) -> Table:  # noqa: ANN401
        asked = SplitRequest(config=config, **request)
        model = general_model(asked, config, "config")
        drafts = tuple(model.drafts(phases, known_kinds(desk).args))
        return Table(drafts, layer_order(model.facts), asked, asked.stack)

    return build


def trace(
    folder: Path,
    steps: Sequence[tuple[str, Sequence[tuple[str, int]]]],
    *,
    devices: int = 1,
) -> Path:
    """A torch trace: an annotation for each step, its launches with their duration in microseconds."""
    events: list[dict[str, Any]] = []
    for device in range(devices):
        at = 1000.0
        for name, launches in steps:
            begin = at
            for kernel, duration in launches:
                events.append(
                    {"ph": "X", "cat": "kernel", "name": kernel, "pid": device, "tid": 7, "ts": at, "dur": duration,
                     "args": {"device": device, "stream": 7}}
                )  # fmt: skip
                at += max(duration, 0) + 1
            events.append(
                {"ph": "X", "cat": "gpu_user_annotation", "name": name, "pid": device, "tid": 7, "ts": begin - 0.5,
                 "dur": at - begin}
            )  # fmt: skip
            at += 50
    file = folder / "trace.json"
    file.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return file


PREFILL = "execute_context_1(888_788544)_generation_0(0)"
DECODE = "execute_context_0(0)_generation_8(8)"
MIXED = "execute_context_1(64)_generation_8(8)"


def timed(launches: Sequence[Launch]) -> tuple[list[tuple[str, int]], Counter[int]]:
    """Launches with durations that tell every one of them from the others, and what each row should get."""
    steps = [(name, 3 + index) for index, (name, _) in enumerate(launches)]
    rows: Counter[int] = Counter()
    for (_, row), (_, duration) in zip(launches, steps, strict=True):
        rows[row] += 1000 * duration
    return steps, rows


def by_row(placement: Placement) -> dict[int, int]:
    return {index: placement.ns(index) for index in placement.rows}


@pytest.mark.parametrize(
    ("config", "request_fields"),
    [
        (SPARSE, {}),
        (SPARSE, {"tp": 2}),
        (LATENT, {}),
        (LATENT, {"tp": 2, "stack": "sglang"}),
        (LATENT, {"stack": "trtllm"}),
    ],
)
@pytest.mark.parametrize(("phase", "step"), [("prefill", PREFILL), ("decode", DECODE)])
def test_kernels_of_one_name_go_to_the_rows_that_launched_them(
    config: dict[str, Any],
    request_fields: dict[str, Any],
    phase: str,
    step: str,
    tables: Tables,
    tmp_path: Path,
) -> None:
    """Defect: the time of all GEMMs divided over all GEMM rows by an estimate; sliding and full layers mixed up."""
    table = tables(config, **request_fields)
    launches, expected = timed(table.run(phase))
    placement = table.place(trace(tmp_path, [(step, launches)]))
    assert by_row(placement) == expected
    assert not placement.plumbing
    assert not placement.unplaced
    assert placement.begun == Counter(row for _, row in table.run(phase))


def test_what_stands_between_the_rows_is_plumbing_or_named(tables: Tables, tmp_path: Path) -> None:
    """Defect: a copy's time added to a row, a kernel without a row hidden, nanoseconds lost."""
    table = tables(SPARSE)
    launches, expected = timed(table.run("prefill"))
    middle = len(launches) // 2
    behind = [("at::native::reduce_kernel<ArgMaxOps<float>>", 70), ("index_elementwise_kernel", 80)]
    between = [("Memcpy DtoD (Device -> Device)", 50), ("mystery", 60)]
    noisy = [(PREPARATION, 40), *launches[:middle], *between, *launches[middle:], *behind]
    placement = table.place(trace(tmp_path, [(PREFILL, noisy)]))
    assert by_row(placement) == expected
    assert {each.name[:14]: each.ns for each in placement.plumbing} == {
        "create_flashin": 40_000, "Memcpy DtoD (D": 50_000, "at::native::re": 70_000, "index_elementw": 80_000,
    }  # fmt: skip
    assert [(each.name, each.ns) for each in placement.unplaced] == [("mystery", 60_000)]
    assert placement.placed_ns == placement.total_ns == sum(1000 * duration for _, duration in noisy)


def test_a_heavy_kernel_behind_the_forward_is_not_called_bookkeeping(tables: Tables, tmp_path: Path) -> None:
    """Defect: a draft model's forward in the same step hidden as sampling."""
    table = tables(SPARSE)
    launches, _ = timed(table.run("prefill"))
    placement = table.place(trace(tmp_path, [(PREFILL, [*launches, ("fused_moe_kernel_of_a_draft", 900)])]))
    assert [each.name for each in placement.unplaced] == ["fused_moe_kernel_of_a_draft"]


def test_shared_experts_that_run_before_the_router_keep_their_rows(tables: Tables, tmp_path: Path) -> None:
    """Defect: rows in another order than the table's lose their kernels to their neighbours."""
    table = tables(LATENT, ("prefill",))
    run = table.run("prefill")
    shared = [
        at
        for at, draft in enumerate(table.drafts)
        if draft.op.startswith("moe.shared") and draft.family == "activation"
    ]
    moved: list[Launch] = []
    for name, row in run:
        if row in shared:
            place_at = max(
                index for index, (_, each) in enumerate(moved) if table.drafts[each].op == "moe.router"
            )
            moved.insert(place_at, (name, row))
        else:
            moved.append((name, row))
    launches, expected = timed(moved)
    assert by_row(table.place(trace(tmp_path, [(PREFILL, launches)]))) == expected


def test_rows_that_a_stack_does_not_launch_leave_their_neighbours_alone(
    tables: Tables, tmp_path: Path
) -> None:
    """Defect: one missing launch a layer shifts every kernel behind it by a row."""
    table = tables(SPARSE)
    launches, expected = timed(table.run("decode", skip=("attention.rope", "moe.router", "embed.lookup")))
    placement = table.place(trace(tmp_path, [(DECODE, launches)]))
    moe = next(at for at, draft in enumerate(table.drafts) if draft.op == "moe.norm")
    assert placement.ns(moe) == expected[moe]
    assert by_row(placement) == expected


def test_the_shapes_of_a_product_decide_where_the_order_leaves_it_open(
    tables: Tables, tmp_path: Path
) -> None:
    """Defect: the one GEMM of a layer that was seen counted for the first of two rows that it may be."""
    table = tables(SPARSE)
    router = next(at for at, draft in enumerate(table.drafts) if draft.op == "moe.router")
    args = table.drafts[router].maps_to.args
    dims = [[8, args["k"]], [args["k"], args["n"]]]
    lone = trace(tmp_path, [(DECODE, [(NAMES["gemm"], 5)])])
    events = json.loads(lone.read_text(encoding="utf-8"))
    events["traceEvents"][0]["args"]["External id"] = 5
    events["traceEvents"].append(
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 900, "dur": 1,
         "args": {"External id": 5, "Input Dims": dims}}
    )  # fmt: skip
    lone.write_text(json.dumps(events), encoding="utf-8")
    placement = table.place(lone)
    assert {table.drafts[index].op for index in placement.rows} == {"moe.router"}


def test_one_kernel_for_both_phases_is_shared_and_two_are_told_by_their_names(
    tables: Tables, tmp_path: Path
) -> None:
    """Defect: mixed steps counted for one phase, or twice."""
    table = tables(SPARSE)
    both, others = [], []
    for name, row in table.run("prefill"):
        attends = table.drafts[row].family == "attention"
        both.append(("kernel_unified_attention_2d" if attends else name, row))
        others += [("BatchPrefillKernel", row), ("BatchDecodeKernel", row)] if attends else [(name, row)]
    for launches, shared in ((both, True), (others, False)):
        steps, _ = timed(launches)
        placement = table.place(trace(tmp_path, [(MIXED, steps)]))
        names = {
            (table.drafts[at].counted, kernel.name)
            for at, kernels in placement.rows.items()
            if table.drafts[at].family == "attention"
            for kernel, _ in kernels
        }
        one = {(phase, "kernel_unified_attention_2d") for phase in ("prefill", "decode")}
        assert names == (
            one if shared else {("prefill", "BatchPrefillKernel"), ("decode", "BatchDecodeKernel")}
        )
        assert placement.placed_ns == placement.total_ns


def test_launches_that_the_table_merges_are_doubted_with_both_numbers(tables: Tables, tmp_path: Path) -> None:
    """Defect: three projections taken for the one of the table, because their time fits into its row."""
    table = tables(SPARSE)
    split: list[Launch] = []
    for name, row in table.run("decode"):
        split += [(name, row)] * (3 if table.drafts[row].op == "attention.qkv_proj" else 1)
    launches, expected = timed(split)
    placement = table.place(trace(tmp_path, [(DECODE, launches)] * 3))
    assert by_row(placement) == {row: 3 * ns for row, ns in expected.items()}
    doubts = doubtful_families(table.drafts, placement, eager=False)
    assert doubts == {"gemm": "21.0 launches an iteration seen, 13 by the table"}


def test_every_device_and_every_step_is_laid_along_the_table(tables: Tables, tmp_path: Path) -> None:
    """Defect: two ranks' launches taken for one sequence, decode's steps for prefill's."""
    table = tables(SPARSE, tp=2)
    first, prefill = timed(table.run("prefill"))
    second, decode = timed(table.run("decode"))
    placement = table.place(
        trace(tmp_path, [(PREFILL, first), (DECODE, second), (DECODE, second)], devices=2)
    )
    expected = Counter({row: 2 * ns for row, ns in prefill.items()})
    expected.update({row: 4 * ns for row, ns in decode.items()})
    assert by_row(placement) == expected
    assert placement.steps == 6
    assert not doubtful_families(table.drafts, placement, eager=False)


def test_a_broken_duration_is_in_no_row(tables: Tables, tmp_path: Path) -> None:
    """Defect: a negative duration subtracted from a row's time."""
    table = tables(SPARSE)
    launches, expected = timed(table.run("decode"))
    row = table.run("decode")[4][1]
    damaged = [*launches[:4], (launches[4][0], -7), *launches[5:]]
    placement = table.place(trace(tmp_path, [(DECODE, damaged)]))
    expected[row] -= 1000 * launches[4][1]
    assert by_row(placement) == {at: ns for at, ns in expected.items() if ns or at == row}
    assert placement.placed_ns == placement.total_ns


def test_evidence_moves_a_kernel_once(tables: Tables, tmp_path: Path) -> None:
    """Defect: a kernel that an agent names counted where the order puts it, and again where the evidence does."""
    table = tables(SPARSE)
    launches, _ = timed(table.run("decode"))
    name = NAMES["kv_append"]
    placement = table.place(trace(tmp_path, [(DECODE, launches)]), {"attention.rope": f"{name} rotates too"})
    holders = {
        table.drafts[at].op
        for at, kernels in placement.rows.items()
        for kernel, _ in kernels
        if kernel.name == name
    }
    assert holders == {"attention.rope"}
    assert placement.placed_ns == placement.total_ns


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_steps_that_nobody_marked_are_found_by_the_order_of_their_launches(
    phase: str, tables: Tables, tmp_path: Path
) -> None:
    """Defect: without annotations every GEMM's time divided over all GEMM rows, and the number of steps guessed."""
    table = tables(SPARSE, (phase,))
    step, expected = timed(table.run(phase))
    launches = [*step[7:], ("ArgMaxOps", 5), PREPARED, *step, ("ArgMaxOps", 5), PREPARED, *step, *step[:9]]
    placement = table.place(trace(tmp_path, [("some range of no step", launches)]))
    whole = Counter({row: 2 * ns for row, ns in expected.items()})
    run = table.run(phase)
    for at, (_, duration) in enumerate(step):
        whole[run[at][1]] += 1000 * duration * ((at >= 7) + (at < 9))
    assert by_row(placement) == whole
    assert placement.steps == 4
    assert not placement.unplaced
    assert placement.placed_ns == placement.total_ns


PREPARED = (PREPARATION, 4)


def test_totals_without_an_order_are_shared_by_work_and_conserved(tables: Tables, tmp_path: Path) -> None:
    """Defect: kernels of a summary in the rows of another family, or quantisation of a sparse model in none."""
    table = tables(SPARSE, tp=2)
    names = (*NAMES.values(), "scaled_fp8_quant_kernel", "reduce_segments")
    kernels = [
        {"phase": "decode", "name": name, "calls": 7, "total_ns": 100 + at} for at, name in enumerate(names)
    ]
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(kernels), encoding="utf-8")
    placement = table.place(file)
    homes: dict[str, set[str]] = {}
    for at, placed in placement.rows.items():
        for kernel, _ in placed:
            homes.setdefault(kernel.name, set()).add(table.drafts[at].family)
    expected = {name: {family} for family, name in NAMES.items() if family not in {"activation", "pointwise"}}
    assert {name: families for name, families in homes.items() if name in expected} == expected
    assert homes["scaled_fp8_quant_kernel"] == {"gemm", "moe", "attention"}
    assert homes["reduce_segments"] == {"attention"}
    assert {each.name for each in placement.unplaced} == {NAMES["activation"], NAMES["pointwise"]}
    assert placement.placed_ns == placement.total_ns == sum(100 + at for at in range(len(names)))


KERNELS = (
    *NAMES.values(),
    PREPARATION,
    "mystery",
    "Memcpy HtoD",
    "triton_poi_fused__to_copy_3",
    "void cub::DeviceScan",
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KERNELS), st.integers(1, 500)), min_size=1, max_size=120))
def test_no_order_of_launches_loses_or_doubles_a_nanosecond(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory, launches: list[tuple[str, int]]
) -> None:
    """Defect: a launch in two rows or in none, for a run that the table does not foresee."""
    request = SplitRequest(config=SPARSE, tp=2)
    model = general_model(request, SPARSE, "config")
    table = Table(
        tuple(model.drafts(("prefill", "decode"), known_kinds(desk).args)), layer_order(model.facts), request
    )
    placement = table.place(trace(tmp_path_factory.mktemp("run"), [(MIXED, launches)]))
    kernels: dict[int, CapturedKernel] = {
        id(each): each for placed in placement.rows.values() for each, _ in placed
    }
    calls = sum(each.calls for each in kernels.values()) + sum(
        each.count for each in (*placement.plumbing, *placement.unplaced)
    )
    assert calls == len(launches)
    assert placement.placed_ns == placement.total_ns == sum(1000 * duration for _, duration in launches)
    assert all(ns >= 0 for placed in placement.rows.values() for _, ns in placed)


def gpt_oss_120b(shared_data: Path) -> dict[str, Any]:
    small = json.loads((shared_data / "configs" / "openai--gpt-oss-20b.json").read_text(encoding="utf-8"))
    types = ["sliding_attention", "full_attention"] * 18
    return {**small, "num_hidden_layers": 36, "num_local_experts": 128, "layer_types": types}


@pytest.mark.shared
def test_a_real_prefill_of_a_sparse_model_comes_out_row_by_row(shared_data: Path, tables: Tables) -> None:
    """Defect: MoE GEMMs, all-reduces, fused norms or the two kinds of attention in the wrong rows."""
    table = tables(gpt_oss_120b(shared_data), ("prefill", "decode"), tp=8, kv_dtype="fp8")
    file = shared_data / "captures" / "torch" / "b200_vllm_gptoss120b_tp8_prefill888_eager.pt.trace.json.gz"
    placement = table.place(file)
    names = {
        (draft.layer_class, draft.op): Counter(
            {kernel.name: kernel.calls for kernel, _ in placement.rows.get(at, [])}
        )
        for at, draft in enumerate(table.drafts)
    }
    for layer, cut in (("sliding_moe_layers", "SlidingOrChunked"), ("moe_layers", "PagedKvCausal")):
        assert {calls for name, calls in names[layer, "moe.experts"].items() if name.startswith("bmm_")} == {
            18
        }
        assert sum(name.startswith("bmm_") for name in names[layer, "moe.experts"]) == 2
        attended = [name for name in names[layer, "attention.prefill"] if name.startswith("fmha")]
        assert (len(attended), cut in attended[0]) == (1, True)
        for section in ("attention", "moe"):
            assert sum(names[layer, f"{section}.all_reduce"].values()) == 18
        assert any("fused_add_rms_norm" in name for name in names[layer, "moe.norm"])
        assert sum(names[layer, "attention.norm"].values()) == 18
    assert not placement.unplaced
    assert placement.placed_ns == placement.total_ns
    assert not doubtful_families(table.drafts, placement, eager=False)
    shares: Counter[str] = Counter()
    for at, draft in enumerate(table.drafts):
        shares[draft.op] += placement.ns(at)
    assert [op for op, _ in shares.most_common(4)] == [
        "moe.experts",
        "moe.all_reduce",
        "attention.all_reduce",
        "attention.prefill",
    ]


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.long
def test_the_split_of_that_prefill_passes_with_the_capture_alone(
    shared_data: Path, root: Path, split: Callable[..., SplitReport]
) -> None:
    """Defect: a table that its own capture does not bear out, unsorted, or whose shares do not sum to 1."""
    file = root / "b200.pt.trace.json.gz"
    source = shared_data / "captures" / "torch" / "b200_vllm_gptoss120b_tp8_prefill888_eager.pt.trace.json.gz"
    file.write_bytes(source.read_bytes())
    report = split(
        config=gpt_oss_120b(shared_data), tp=8, kv_dtype="fp8", capture=file.name,
        phases=[{"phase": "prefill", "q_len": 888}],
    )  # fmt: skip
    assert report.status == "pass", [each for each in report.criteria if each.status != "pass"]
    shares = [row.measured_share or 0.0 for row in report.rows]
    assert shares == sorted(shares, reverse=True)
    placed = sum(row.measured_ns or 0 for row in report.rows)
    aside = sum(each.ns for each in (*report.plumbing, *report.unplaced))
    assert abs(sum(shares) + aside / (placed + aside) - 1) < 1e-4


@pytest.mark.shared
@pytest.mark.parametrize(
    ("config", "stack", "file", "first"),
    [
        ("Qwen--Qwen3-8B", "sglang", "mi300x_sglang_qwen3-8b_tp1_decode_bs32.trace", "mlp.gate_up_proj"),
        (
            "openai--gpt-oss-20b",
            "vllm",
            "rocm_vllm_gptoss20b_tp1_mixed_toks8192_piecewise.pt.trace",
            "moe.experts",
        ),
    ],
)
def test_real_runs_on_other_hardware_and_stacks_are_placed_whole(
    config: str, stack: str, file: str, first: str, shared_data: Path, tables: Tables
) -> None:
    """Defect: kernels of another vendor's libraries, or of a graph's replay, in no row."""
    table = tables(
        json.loads((shared_data / "configs" / f"{config}.json").read_text(encoding="utf-8")), stack=stack
    )
    placement = table.place(shared_data / "captures" / "torch" / f"{file}.json.gz")
    assert not placement.material
    assert placement.placed_ns == placement.total_ns
    assert sum(each.ns for each in placement.unplaced) < 0.001 * placement.total_ns
    assert table.drafts[max(placement.rows, key=placement.ns)].op == first
    doubted = doubtful_families(table.drafts, placement, eager=False)
    assert not doubted.keys() & {"gemm", "moe", "norm", "attention"}


GENERIC = "void at::native::vectorized_elementwise_kernel<4, {}, std::array<char*, 2ul> >"
MULTIPLIED, ADDED = GENERIC.format("at::native::BinaryFunctor<MulFunctor>"), GENERIC.format("CUDAFunctor_add")
EAGER_NORM = (
    GENERIC.format("pow_tensor_scalar_kernel_impl<float, float>"),
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >",
    GENERIC.format("CUDAFunctorOnSelf_add<float>"),
    GENERIC.format("at::native::rsqrt_kernel_cuda"),
    MULTIPLIED,
    MULTIPLIED,
)
CAT = "void at::native::CatArrayBatchedCopy<bf16>"
EAGER_ROPE = (MULTIPLIED, GENERIC.format("at::native::neg_kernel_cuda"), CAT, MULTIPLIED, ADDED) * 2
DENSE = {
    "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 512, "vocab_size": 1024,
    "torch_dtype": "bfloat16", "tie_word_embeddings": False, "hidden_act": "silu",
}  # fmt: skip


def test_generic_kernels_of_an_eager_forward_fall_to_the_rows_they_stand_in(
    tables: Tables, tmp_path: Path
) -> None:
    """Defect: a norm's six kernels given to the residual before it, a rotation's copies to the cache."""
    table = tables(DENSE, ("prefill",), stack="transformers")
    run: list[Launch] = []
    for name, row in table.run("prefill"):
        family, op = table.drafts[row].family, table.drafts[row].op
        eager = {"norm": EAGER_NORM, "rope": EAGER_ROPE, "kv_append": (CAT, CAT)}
        alone = ADDED if op.endswith("residual_add") else MULTIPLIED if op == "mlp.mul" else name
        run += [(part, row) for part in eager.get(family, (alone,))]
    launches, expected = timed(run)
    placement = table.place(trace(tmp_path, [(PREFILL, launches)]))
    found = by_row(placement)
    wrong = {
        table.drafts[row].op: (found.get(row, 0), ns)
        for row, ns in expected.items()
        if abs(found.get(row, 0) - ns) > 0.02 * ns
    }
    assert not wrong
    assert placement.placed_ns == placement.total_ns
