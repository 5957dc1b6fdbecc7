"""The sizes of a profiled model's layers: the profile names layers only, the model's config.json has the numbers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servingsim.errors import ServingSimError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiling.importers.llmservingsim.profile import Profile

VOCAB_MULTIPLE = 64
"""vLLM pads the vocabulary to a multiple of it (`VocabParallelEmbedding`)."""
DIVIDED = ("intermediate_size", "num_attention_heads", "num_key_value_heads", "vocab_size")
"""Sizes that a rank holds a share of, and that a profile's engine was given as that share."""
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")


@dataclass(frozen=True)
class Shape:
    """One rank's sizes.

    Attributes:
        hidden_size: Width of the residual stream.
        num_heads: Query heads.
        num_kv_heads: KV heads.
        head_dim: Elements of a head.
        intermediate_size: Of the dense MLP.
        vocab_size: Padded.
        num_experts: Of the whole model; 0 for a dense one.
        topk: Experts of a token.
        expert_size: Intermediate size of an expert.
        tp: Ranks.
    """

    hidden_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    num_experts: int
    topk: int
    expert_size: int
    tp: int

    @property
    def q_size(self) -> int:
        """Features of the queries."""
        return self.num_heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Features of the keys."""
        return self.num_kv_heads * self.head_dim


@dataclass(frozen=True)
class ModelConfig:
    """A config.json's sizes, undivided.

    Attributes:
        path: The file.
        sizes: Whole numbers by their names in the file.
    """

    path: Path
    sizes: Mapping[str, int]

    def of_rank(self, tp: int) -> Shape:
        """What one of tp ranks holds.

        Raises:
            ServingSimError: A size is absent or does not divide.
        """
        heads, hidden = self._need("num_attention_heads"), self._need("hidden_size")
        kv_heads = self.sizes.get("num_key_value_heads", heads)
        experts = next((self.sizes[name] for name in EXPERTS if name in self.sizes), 0)
        vocab = -(-self._need("vocab_size") // VOCAB_MULTIPLE) * VOCAB_MULTIPLE
        return Shape(
            hidden_size=hidden,
            num_heads=self._divided(heads, tp, "num_attention_heads"),
            num_kv_heads=self._kv_heads(kv_heads, tp),
            head_dim=self.sizes.get("head_dim", hidden // heads),
            intermediate_size=self._divided(self._need("intermediate_size"), tp, "intermediate_size"),
            vocab_size=self._divided(vocab, tp, "the padded vocab_size"),
            num_experts=experts,
            topk=self.sizes.get("num_experts_per_tok", 0),
            expert_size=self.sizes.get("moe_intermediate_size", self._need("intermediate_size")),
            tp=tp,
        )

    def differences(self, profile: Profile) -> list[str]:
        """Where a profile's engine had other sizes than this model."""
        widest = max(profile.ranks)
        found = []
        for name in DIVIDED:
            said, own = profile.overrides.get(name), self.sizes.get(name)
            if said is not None and own is not None and said != -(-own // widest):
                found.append(f"{name} {own} over tp {widest}, profiled {said}")
        return found

    def _need(self, name: str) -> int:
        if name not in self.sizes:
            raise ServingSimError(
                f"has no {name}", path=str(self.path), hint="give the config.json of the profiled model"
            )
        return self.sizes[name]

    def _kv_heads(self, kv_heads: int, tp: int) -> int:
        """Where there are more ranks than KV heads, several ranks hold the same one."""
        return 1 if tp % kv_heads == 0 else self._divided(kv_heads, tp, "num_key_value_heads")

    def _divided(self, value: int, tp: int, name: str) -> int:
        if value % tp:
            raise ServingSimError(f"{name} {value} cannot be divided by tp {tp}", path=str(self.path))
        return value // tp


def read_config(path: str) -> ModelConfig:
    """A config.json, or the one in a folder.

    Raises:
        ServingSimError: E_PATH or E_INPUT, it cannot be read or is no JSON object.
    """
    file = Path(path) / "config.json" if Path(path).is_dir() else Path(path)
    try:
        content: Any = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ServingSimError(
            f"cannot be read: {error.strerror}", code="E_PATH", path=str(file), hint="see --config"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ServingSimError(f"is no JSON: {error}", path=str(file)) from error
    if not isinstance(content, dict):
        raise ServingSimError(f"holds a {type(content).__name__}", path=str(file), known="a JSON object")
    nested = content.get("text_config")
    fields = {**content, **(nested if isinstance(nested, dict) else {})}
    sizes = {
        name: value
        for name, value in fields.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 0
    }
    return ModelConfig(file, sizes)


def fitting(profile: Profile, configs: Sequence[ModelConfig]) -> ModelConfig:
    """The one config whose sizes are those that the profile was made with.

    Raises:
        ServingSimError: None fits, with every difference; or several do.
    """
    differences = {str(config.path): config.differences(profile) for config in configs}
    fits = [config for config in configs if not differences[str(config.path)]]
    if len(fits) == 1:
        return fits[0]
    why = "; ".join(f"{path}: {', '.join(found)}" for path, found in differences.items() if found)
    raise ServingSimError(
        f"{len(fits)} of {len(configs)} configs fit the profile of {profile.model}",
        path=profile.shown,
        known=why or ", ".join(differences),
        hint="give with --config the config.json of the profiled model" + (", once" if fits else ""),
    )
