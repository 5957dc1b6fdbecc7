"""The worker that traces models, `python -m profiling.model_trace_worker`: torch and Transformers live only here."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from profiling import worker
from profiling.model_trace import TracePhase

if TYPE_CHECKING:
    from profiling import protocol


def trace(request: protocol.Message) -> protocol.Message:
    """Record every phase of a config's model."""
    import torch  # noqa: PLC0415 - only ever in a worker process
    import transformers  # noqa: PLC0415

    from profiling.model_trace_recorder import Recorder  # noqa: PLC0415

    model, config = _on_meta(request["config"], request["dtype"])
    recorder = Recorder(model, tuple(request["windows"]))
    with torch.inference_mode():
        for phase in (TracePhase(**each) for each in request["phases"]):
            cache = _filled_cache(config, phase, model.dtype)
            ids = torch.zeros((phase.batch, phase.q_len), dtype=torch.long, device="meta")
            with recorder.phase(phase.name):
                model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=1)
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "parameters": model.num_parameters(),
        "ops": [asdict(op) for op in recorder.ops],
    }


def _on_meta(config: dict[str, Any], dtype: str) -> tuple[Any, Any]:
    import torch  # noqa: PLC0415
    from transformers import AutoConfig, AutoModelForCausalLM  # noqa: PLC0415

    known = AutoConfig.for_model(**config)
    wanted = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(known, dtype=wanted, attn_implementation="sdpa")
    model.tie_weights()
    return model.eval(), known


def _filled_cache(config: Any, phase: TracePhase, dtype: Any) -> Any:  # noqa: ANN401 - transformers' and torch's
    """A cache that holds the phase's context, without its contents."""
    import torch  # noqa: PLC0415
    from transformers import DynamicCache  # noqa: PLC0415

    cache = DynamicCache(config=config)
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    shape = (phase.batch, config.num_key_value_heads, phase.context, head_dim)
    for layer in range(config.num_hidden_layers if phase.context else 0):
        keys, values = (torch.empty(shape, dtype=dtype, device="meta") for _ in range(2))
        cache.update(keys, values, layer)
    return cache


if __name__ == "__main__":
    worker.serve({"trace": trace})
