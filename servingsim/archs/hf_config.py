"""A Hugging Face config.json to `DenseFacts`: what it says, what its model type makes it mean, never a guess.

Model types are read as Transformers 5 reads them (`configuration_<type>.py`): their differences are the
table `MODEL_TYPES`. What is required and absent is refused by name, and so is every architecture that
this reader does not know.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from servingsim.archs.facts import DenseFacts
from servingsim.errors import ServingSimError
from servingsim.validation import parse, shown

if TYPE_CHECKING:
    from pathlib import Path

    from servingsim.timing.contract import Dtype

Size = Annotated[int, Field(strict=True, ge=1, le=2**24)]

MAX_CONFIG_BYTES = 2**24
"""A config.json is a few kilobytes; sixteen megabytes are another file."""

DTYPES: dict[str, Dtype] = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
"""Names in a config (with or without the `torch.` before them) to ours."""

OTHER_FAMILIES = {
    "num_experts": "mixture of experts",
    "num_local_experts": "mixture of experts",
    "n_routed_experts": "mixture of experts",
    "kv_lora_rank": "multi-head latent attention",
    "text_config": "a model around a text model",
    "hybrid_override_pattern": "hybrid of attention and state-space layers",
    "full_attention_interval": "hybrid of full and linear attention",
    "ssm_cfg": "state-space model",
}
"""Config fields that give another architecture away, whatever model_type says."""


@dataclass(frozen=True)
class ModelType:
    """How Transformers reads a model type where its config is silent or the same field means another thing.

    Attributes:
        qk_norm: RMSNorm on query and key heads.
        qkv_bias: Whether q, k and v have biases; None: the config's `attention_bias` decides, for o as well.
        kv_heads_derived: An absent `num_key_value_heads` means one for each head; else it is required.
        head_dim_derived: An absent `head_dim` means hidden_size / num_attention_heads; else it is required.
        window: `never`; `switched` by `use_sliding_window`, on the layers from `max_window_layers`; `always`.
        absent_window: What an absent `sliding_window` means.
    """

    qk_norm: bool = False
    qkv_bias: bool | None = None
    kv_heads_derived: bool = False
    head_dim_derived: bool = True
    window: str = "never"
    absent_window: int | None = None


MODEL_TYPES = {
    "llama": ModelType(kv_heads_derived=True),
    "mistral": ModelType(qkv_bias=False, window="always", absent_window=4096),
    "qwen2": ModelType(qkv_bias=True, window="switched", absent_window=4096),
    "qwen3": ModelType(qk_norm=True, head_dim_derived=False, window="switched", absent_window=4096),
}
"""The dense decoders that can be built."""


class RawConfig(BaseModel):
    """The fields of a config.json that cost depends on; everything else in it is ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model_type: str
    hidden_size: Size
    num_hidden_layers: Annotated[int, Field(strict=True, ge=1, le=2**12)]
    num_attention_heads: Size
    num_key_value_heads: Size | None = None
    head_dim: Size | None = None
    intermediate_size: Size
    vocab_size: Size
    max_position_embeddings: Annotated[int, Field(strict=True, ge=1, le=2**24)]
    hidden_act: str = "silu"
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    use_sliding_window: bool = False
    sliding_window: Size | None = None
    max_window_layers: Annotated[int, Field(strict=True, ge=0, le=2**12)] = 28
    layer_types: list[str] | None = None
    dtype: str | None = None
    torch_dtype: str | None = None
    quantization_config: dict[str, Any] | None = None


def read_facts(path: Path, *, dtype: Dtype | None = None) -> DenseFacts:
    """The facts of the model whose config.json (or whose folder) is given.

    Args:
        path: A config.json, or the folder that holds one.
        dtype: Takes the place of the config's dtype.

    Raises:
        ServingSimError: Not a file, not JSON, not a dense decoder of a known type, or a field that is
            missing or out of range; names the field, its value and what would be accepted.
    """
    file = path / "config.json" if path.is_dir() else path
    return dense_facts(json_object(file), where=str(file), dtype=dtype)


def dense_facts(data: dict[str, Any], *, where: str, dtype: Dtype | None = None) -> DenseFacts:
    """The facts that a decoded config states; see `read_facts`."""
    known = _known_type(data, where)
    raw = parse(RawConfig, data, where=where)
    if raw.hidden_act != "silu":
        raise ServingSimError(f"hidden_act {raw.hidden_act!r}", known="silu", path=where)
    own_dtype = dtype or _dtype(raw, where)
    gemm_dtype, quantisation = _quantisation(raw, own_dtype, where)
    window_size, sliding = _sliding(raw, known, data, where)
    return DenseFacts(
        model_type=raw.model_type,
        hidden_size=raw.hidden_size,
        num_layers=raw.num_hidden_layers,
        num_heads=raw.num_attention_heads,
        num_kv_heads=_kv_heads(raw, known, data, where),
        head_dim=_head_dim(raw, known, where),
        intermediate_size=raw.intermediate_size,
        vocab_size=raw.vocab_size,
        tied_embeddings=raw.tie_word_embeddings,
        qk_norm=known.qk_norm,
        qkv_bias=raw.attention_bias if known.qkv_bias is None else known.qkv_bias,
        o_bias=raw.attention_bias and known.qkv_bias is None,
        mlp_bias=raw.mlp_bias and raw.model_type == "llama",
        window_size=window_size,
        num_sliding_layers=sliding,
        max_positions=raw.max_position_embeddings,
        dtype=own_dtype,
        gemm_dtype=gemm_dtype,
        quantisation=quantisation,
    )


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object of a config file.

    Raises:
        ServingSimError: Not a file, too large for one, or not a JSON object.
    """
    if not path.is_file():
        raise ServingSimError(
            "no such file", code="E_NOT_FOUND", path=str(path), hint="give a config.json or its folder"
        )
    try:
        if path.stat().st_size > MAX_CONFIG_BYTES:
            raise ServingSimError(f"{path.stat().st_size} bytes are no config.json", path=str(path))
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ServingSimError(f"cannot be read: {error.strerror}", code="E_PATH", path=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise ServingSimError(
            f"is not JSON: {error}", path=str(path), hint="it may be truncated: download it again"
        ) from error
    if not isinstance(data, dict):
        raise ServingSimError(f"holds {shown(data)}, not a JSON object", path=str(path))
    return data


def _known_type(data: dict[str, Any], where: str) -> ModelType:
    """The reader's table entry; refuses other architectures before their fields can confuse."""
    other = next(((name, what) for name, what in OTHER_FAMILIES.items() if data.get(name)), None)
    model_type = data.get("model_type")
    if other or not isinstance(model_type, str) or model_type not in MODEL_TYPES:
        field = f"{other[0]} {shown(data[other[0]])} says {other[1]}; " if other else ""
        said = f"model_type {shown(model_type)}" if "model_type" in data else "model_type: missing"
        raise ServingSimError(
            f"{field}{said}",
            known=f"dense decoders of model_type {', '.join(MODEL_TYPES)}",
            path=where,
        )
    return MODEL_TYPES[model_type]


def _kv_heads(raw: RawConfig, known: ModelType, data: dict[str, Any], where: str) -> int:
    if raw.num_key_value_heads is None and "num_key_value_heads" not in data and not known.kv_heads_derived:
        raise ServingSimError(f"num_key_value_heads: missing, {raw.model_type} needs it", path=where)
    kv_heads = raw.num_key_value_heads or raw.num_attention_heads
    if raw.num_attention_heads % kv_heads:
        raise ServingSimError(
            f"num_attention_heads {raw.num_attention_heads} is no multiple of num_key_value_heads {kv_heads}",
            path=where,
        )
    return kv_heads


def _head_dim(raw: RawConfig, known: ModelType, where: str) -> int:
    if raw.head_dim is not None:
        return raw.head_dim
    if not known.head_dim_derived:
        raise ServingSimError(f"head_dim: missing, {raw.model_type} needs it", path=where)
    if raw.hidden_size % raw.num_attention_heads:
        raise ServingSimError(
            f"head_dim is absent and hidden_size {raw.hidden_size} is no multiple of num_attention_heads "
            f"{raw.num_attention_heads}",
            path=where,
        )
    return raw.hidden_size // raw.num_attention_heads


def _dtype(raw: RawConfig, where: str) -> Dtype:
    """`dtype` is Transformers 5's name for `torch_dtype`."""
    given = {name.removeprefix("torch.") for name in (raw.dtype, raw.torch_dtype) if name is not None}
    if len(given) != 1 or not given <= set(DTYPES):
        said = f"dtype {raw.dtype!r}, torch_dtype {raw.torch_dtype!r}" if given else "dtype: missing"
        raise ServingSimError(
            said, known=f"one of {', '.join(DTYPES)}", hint="or choose one with --dtype", path=where
        )
    return DTYPES[given.pop()]


def _quantisation(raw: RawConfig, dtype: Dtype, where: str) -> tuple[Dtype, str]:
    """Dtype of the layers' linear weights, and the method in words. The lm_head stays unquantised."""
    config = raw.quantization_config
    if not config:
        return dtype, ""
    method, block = config.get("quant_method"), config.get("weight_block_size")
    if method != "fp8" or block not in (None, [128, 128]):
        raise ServingSimError(
            f"quantization_config: quant_method {shown(method)}, weight_block_size {shown(block)}",
            known="quant_method fp8, per tensor or with weight_block_size [128, 128]",
            path=where,
        )
    return ("fp8_block", "fp8, blocks of 128 x 128") if block else ("fp8", "fp8")


def _sliding(raw: RawConfig, known: ModelType, data: dict[str, Any], where: str) -> tuple[int, int]:
    """Window and number of layers that slide; (0, 0) where a stated window is not used."""
    if known.window == "never" or (known.window == "switched" and not raw.use_sliding_window):
        return 0, 0
    window = raw.sliding_window if "sliding_window" in data else known.absent_window
    if window is None:
        return 0, 0
    if known.window == "always":
        return window, raw.num_hidden_layers
    sliding = max(0, raw.num_hidden_layers - raw.max_window_layers)
    if raw.layer_types is not None:
        sliding = _sliding_layer_types(raw, where)
    return (window, sliding) if sliding else (0, 0)


def _sliding_layer_types(raw: RawConfig, where: str) -> int:
    types = raw.layer_types or []
    unknown = set(types) - {"full_attention", "sliding_attention"}
    if unknown or len(types) != raw.num_hidden_layers:
        raise ServingSimError(
            f"layer_types has {len(types)} entries, {shown(sorted(set(types)))}",
            known=f"full_attention or sliding_attention for each of {raw.num_hidden_layers} layers",
            path=where,
        )
    return types.count("sliding_attention")
