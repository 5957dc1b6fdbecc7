"""`capture record`: what is served, and the recording itself, of an engine that stands in for vLLM."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from profiling.captures.recording.plan import Traffic, sweep_of, traffic_of
from profiling.captures.recording.record import RecordRequest, record
from server.align.align import align
from server.align.request import AlignRequest
from server.cli import cli
from servingsim.errors import ServingSimError
from servingsim.sim.truth.iterations_read import read_iterations
from tests.align import engine

VLLM = '''
"""An engine with vLLM's interface: a scheduler of its own, steps that sleep, a profile of their launches."""
import json, os, time
from pathlib import Path
from types import SimpleNamespace
from tests.align import engine as costs

__version__ = "9.9"


def EngineArgs(**given):
    return SimpleNamespace(**given)


def SamplingParams(**given):
    return SimpleNamespace(**given)


class Scheduler:
    def __init__(self, given):
        self.scheduler_config = given
        self.requests = {}

    def schedule(self):
        budget, chosen = self.scheduler_config.max_num_batched_tokens, {}
        for decoding in (True, False):
            for name, each in self.requests.items():
                left = each.num_prompt_tokens - each.num_computed_tokens
                if (left <= 0) == decoding and budget and len(chosen) < self.scheduler_config.max_num_seqs:
                    chosen[name] = 1 if decoding else min(left, budget)
                    budget -= chosen[name]
        return SimpleNamespace(num_scheduled_tokens=chosen)

    def update_from_output(self, scheduled):
        for name, new in scheduled.num_scheduled_tokens.items():
            each = self.requests[name]
            each.num_computed_tokens += new
            if each.num_computed_tokens >= each.num_prompt_tokens:
                each.tokens.append(1)
                yield SimpleNamespace(request_id=name, outputs=[SimpleNamespace(token_ids=list(each.tokens))])
            if len(each.tokens) == each.most:
                del self.requests[name]


class LLMEngine:
    @classmethod
    def from_engine_args(cls, given):
        if os.environ.get("BROKEN_ENGINE"):
            raise RuntimeError("no memory for the cache")
        made = cls()
        made.traces, made.profile = Path(given.profiler_config["torch_profiler_dir"]), None
        made.engine_core = SimpleNamespace(
            engine_core=SimpleNamespace(scheduler=Scheduler(given), model_executor=made)
        )
        return made

    @property
    def scheduler(self):
        return self.engine_core.engine_core.scheduler

    def add_request(self, name, prompt, wanted):
        self.scheduler.requests[name] = SimpleNamespace(
            num_prompt_tokens=len(prompt["prompt_token_ids"]), num_computed_tokens=0, tokens=[], most=wanted.max_tokens
        )

    def has_unfinished_requests(self):
        return bool(self.scheduler.requests)

    def start_profile(self):
        self.profile = []

    def stop_profile(self):
        self.traces.mkdir()
        costs.write_capture(self.traces / "rank0.pt.trace.json", self.profile)
        self.profile = None

    def execute_model(self, scheduled):
        chunks, decodes = [], []
        for name, new in scheduled.num_scheduled_tokens.items():
            each = self.scheduler.requests[name]
            if each.num_computed_tokens < each.num_prompt_tokens:
                chunks.append((each.num_computed_tokens, new))
            else:
                decodes.append(each.num_computed_tokens)
        step = costs.Step(tuple(chunks), tuple(decodes))
        if self.profile is not None:
            self.profile.append(step)
        end = time.perf_counter() + costs.Times(SCALE, 1.0).step_ms(step) * 1e-3
        while time.perf_counter() < end:
            pass

    def step(self):
        scheduled = self.scheduler.schedule()
        self.engine_core.engine_core.model_executor.execute_model(scheduled)
        return list(self.scheduler.update_from_output(scheduled))


SCALE = 0.1
'''
TORCH = """
__version__ = "2"


def set_num_threads(count):
    global threads
    threads = count


def get_num_threads():
    return threads


threads = 3
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> RecordRequest:
    """A recording of the engine that stands in, small."""
    packages = tmp_path / "packages"
    (packages / "vllm" / "v1" / "engine").mkdir(parents=True)
    (packages / "vllm" / "__init__.py").write_text(VLLM, "utf-8")
    (packages / "vllm" / "v1" / "engine" / "llm_engine.py").write_text(
        "from vllm import LLMEngine\n", "utf-8"
    )
    (packages / "torch.py").write_text(TORCH, "utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{packages}:{pytestconfig.rootpath}")
    config = tmp_path / "tiny" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps(engine.CONFIG), "utf-8")
    traffic = Traffic(requests=4, prompt_tokens=96, output_tokens=6)
    return RecordRequest(
        config=config,
        python=Path(sys.executable),
        out=tmp_path / "out",
        max_num_tokens=128,
        max_num_seqs=4,
        max_model_len=512,
        threads=1,
        runs=2,
        traffic=traffic,
    )


def test_a_recording_is_a_log_and_a_capture_that_belong_together(stand_in: RecordRequest) -> None:
    """Defect: lengths of requests that end in a step are lost, warm-ups are counted, or the two files do not match."""
    recorded = record(stand_in)
    log = read_iterations(recorded.log)
    wanted = traffic_of(stand_in.traffic, stand_in.max_model_len)
    assert [run.name for run in log.runs] == ["0", "1"]
    for run in log.runs:
        assert sorted((each.prompt_tokens, len(each.token_ms)) for each in run.requests) == sorted(
            (prompt, output) for prompt, output, _ in wanted
        )
        assert sum(each.num_tokens for each in run.iterations) == sum(p + o - 1 for p, o, _ in wanted)
    assert (log.engine, log.facts["threads"], log.max_num_tokens) == ("vllm 9.9", "1", 128)
    assert log.runs[0].iterations[0].parts_ms.keys() == {"sched", "exec", "update"}
    report = align(AlignRequest(model=str(stand_in.config), log=recorded.log, capture=recorded.capture), None)
    assert {each.phase for each in report.ops} == {"prefill", "decode", "mixed"}
    assert not any("lengths of single requests" in note for note in report.notes)


def test_an_engine_that_fails_is_told_in_its_own_words(
    stand_in: RecordRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defect: "the engine failed", and the user has to find out why."""
    monkeypatch.setenv("BROKEN_ENGINE", "1")
    with pytest.raises(ServingSimError, match="no memory for the cache") as refused:
        record(stand_in)
    assert refused.value.code == "E_TOOLCHAIN"
    assert refused.value.path.endswith("engine.log")


def test_a_python_without_vllm_is_refused_with_how_to_have_it(tmp_path: Path) -> None:
    """Defect: minutes later the engine's import fails in a log file."""
    (tmp_path / "config.json").write_text(json.dumps(engine.CONFIG), "utf-8")
    words = ["capture", "record", str(tmp_path), "--out", str(tmp_path / "out"), "--python", sys.executable]
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 2
    assert "has no vLLM" in done.output + done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("tokens", "seqs", "longest"), [(512, 16, 2048), (16, 1, 64), (8192, 256, 4096)])
def test_a_sweep_shows_sizes_up_to_the_engine_s_limits(tokens: int, seqs: int, longest: int) -> None:
    """Defect: decodes of a size are never profiled, or a wave asks for more than the engine takes."""
    waves = sweep_of(tokens, seqs, longest)
    assert all(prompt + output <= longest for wave in waves for prompt, output, _ in wave)
    prefills = {wave[0][0] for wave in waves if len(wave) == 1 and wave[0][1] == 1}
    assert max(prefills) * 2 > min(tokens, longest - 1)
    batches = {len(wave) for wave in waves if wave[0][1] == 3 and len({each[0] for each in wave}) == 1}
    assert {1, min(seqs, 64)} <= batches


def test_traffic_is_the_same_for_a_seed_and_fits_the_engine() -> None:
    """Defect: fitted and judged runs serve different requests without saying so."""
    traffic = Traffic(requests=50, prompt_tokens=100, output_tokens=10, rate=5.0, seed=3)
    first = traffic_of(traffic, 512)
    assert first == traffic_of(traffic, 512)
    assert [at for _, _, at in first] == sorted(at for _, _, at in first)
    assert all(50 <= prompt <= 200 and 5 <= output <= 20 for prompt, output, _ in first)
    with pytest.raises(ServingSimError, match="up to 220 tokens") as refused:
        traffic_of(traffic, 128)
    assert refused.value.code == "E_LIMIT"
