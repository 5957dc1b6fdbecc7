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


def trace_any(request: protocol.Message) -> protocol.Message:
    """Record every phase of a config's text model in its whole depth; one layer of each class is kept."""
    import torch  # noqa: PLC0415 - only ever in a worker process
    import transformers  # noqa: PLC0415

    from profiling.model_trace_build import build  # noqa: PLC0415
    from profiling.model_trace_classes import classes_of, one_of_each  # noqa: PLC0415
    from profiling.model_trace_inline import whole_attention  # noqa: PLC0415
    from profiling.model_trace_regions import regions  # noqa: PLC0415
    from profiling.model_trace_run import parameters, run  # noqa: PLC0415

    places = regions()
    built = build(request["config"], request["dtype"])
    recorder, path = run(built, [TracePhase(**each) for each in request["phases"]], places)
    depth = len(built.model.get_submodule(path)) if path else 0
    ops = whole_attention(recorder.ops)
    classes = classes_of(ops, depth)
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "parameters": parameters(built, recorder),
        "ops": [asdict(op) for op in one_of_each(ops, classes)],
        "classes": [asdict(each) for each in classes],
        "model_class": type(built.model).__name__,
        "layers_path": path,
    }


def model_types(_request: protocol.Message) -> protocol.Message:
    """Every model type that Transformers has a causal language model for, with its kind."""
    from profiling.model_trace_build import model_types as known  # noqa: PLC0415 - only ever in a worker process

    return {"kinds": known()}


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
    worker.serve({"trace": trace, "trace_any": trace_any, "model_types": model_types})
