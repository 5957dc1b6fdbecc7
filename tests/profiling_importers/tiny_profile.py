"""A made-up model's layer profile, laid out as LLMServingSim's profiler writes it, and its config.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GPU = "Tiny GPU 9"
CONFIG: dict[str, Any] = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 24,
    "intermediate_size": 80,
    "vocab_size": 100,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
}
META = f"""
gpu: {GPU}
vllm_version: 0.19.0
model: made/up
variant: bf16
profiled_at: "2026-01-02T03:04:05"
cuda_version: "12.8"
engine_effective:
  enforce_eager: true
  hf_overrides: {{intermediate_size: 80, num_attention_heads: 4, num_key_value_heads: 2, vocab_size: 100}}
"""
LAYERS = (
    "qkv_proj",
    "o_proj",
    "gate_up_proj",
    "down_proj",
    "layernorm",
    "qk_norm",
    "rotary_emb",
    "act_fn",
    "embedding",
    "final_layernorm",
)
TABLES: dict[str, list[str]] = {
    "dense.csv": [
        "layer,tokens,time_us",
        *(f"{layer},8,{number + 1}.5" for number, layer in enumerate(LAYERS)),
    ],
    "per_sequence.csv": ["layer,sequences,time_us", "lm_head,3,40", "sampler,3,7"],
    "attention.csv": [
        "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us",
        "0,0,2,64,5",
        "16,0,0,0,6",
        "16,32,2,64,9",
    ],
    "moe.csv": [
        "tokens,activated_experts,time_us",
        *(f"1,{active},{10 * active}" for active in (1, 2)),
        *(f"2,{active},{12 * active}" for active in (1, 2, 3, 4)),
        *(f"4,{active},{20 * active}" for active in (1, 2, 3, 4)),
    ],
}


@dataclass(frozen=True)
class TinyProfile:
    """A profile on the disk: a folder for `--folder`, a file for `--config`."""

    folder: Path
    config: Path

    @property
    def home(self) -> Path:
        """Where its meta.yaml lies."""
        return self.folder / "TINY" / "made" / "up" / "bf16"

    def table(self, name: str, rank: str = "tp1") -> Path:
        """One of its files."""
        return self.home / rank / name

    def write(self, name: str, lines: list[str], rank: str = "tp1") -> None:
        """Put other lines in one of its files."""
        self.table(name, rank).parent.mkdir(exist_ok=True)
        self.table(name, rank).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        """Put other text in the place of some in one of its files."""
        text = self.table(name).read_text(encoding="utf-8")
        assert text.count(old) == 1, "the change has to be one"
        self.table(name).write_text(text.replace(old, new), encoding="utf-8")

    def configure(self, changes: Mapping[str, Any], name: str = "config.json") -> Path:
        """Another config.json beside it."""
        path = self.config.with_name(name)
        path.write_text(json.dumps(CONFIG | dict(changes)), encoding="utf-8")
        return path


def tiny_profile(root: Path) -> TinyProfile:
    """Write it below a folder."""
    profile = TinyProfile(root / "profiles", root / "config.json")
    profile.home.mkdir(parents=True)
    profile.configure({})
    (profile.home / "meta.yaml").write_text(META, encoding="utf-8")
    for name, lines in TABLES.items():
        profile.write(name, lines)
    return profile
