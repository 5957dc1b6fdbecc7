"""Fields of an unknown model type that no reader looked at: cost may hide in them, so they are named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servingsim.archs.explore.context import Reading

HARMLESS = re.compile(
    r"token|rope|rotary|dropout|pdrop|_eps|epsilon|init|scal|temperature|use_cache|loss|softcap|version|pretrain|"
    r"architectures|auto_map|_name_or_path|dtype|quantization|output_|return_|id2label|label2id|problem|chunk_size_feed|"
    r"jitter|theta|norm_topk|bos|eos|pad|torchscript|gradient|beam|length|top_p|multiplier|logit|n_group|topk_group|"
    r"topk_method|seq_aux|ep_size|model_type|tie_|attn_implementation|transformers|is_decoder|is_encoder|max_window"
)
"""What changes values but not work, or is no part of the architecture."""
MAX_NAMED = 12


def unread_fields(reading: Reading) -> str:
    """The names, as one entry of `ModelFacts.unknown`; empty where everything was read or is harmless."""
    names = sorted(
        name
        for name, value in reading.fields.data.items()
        if name not in reading.fields.read
        and value not in (None, False, 0, "", [], {})
        and not HARMLESS.search(name)
    )
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (
        f"what these fields mean: {', '.join(each[:60] for each in names[:MAX_NAMED])}{more}" if names else ""
    )
