"""One layer of a class: the norm before each part, the parts, the sum over ranks, the residual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from servingsim.archs.model_facts import LatentAttention, LinearAttention, Mamba2, MoeMlp, SoftmaxAttention
from skills.split_model.draft import Cover
from skills.split_model.rows.latent import latent_rows
from skills.split_model.rows.mlp import mlp_rows
from skills.split_model.rows.modules import JOINED
from skills.split_model.rows.moe import moe_rows
from skills.split_model.rows.recurrent import delta_rows, mamba_rows
from skills.split_model.rows.softmax import softmax_rows

if TYPE_CHECKING:
    from servingsim.archs.model_facts import LayerClass, Mixer, Mlp, ModelFacts
    from skills.split_model.draft import Draft
    from skills.split_model.rows.writer import Rows

FIRST_NORM = "input_layernorm|norm|ln_1|attention_norm|operator_norm|input_norm|pre_attention_layernorm|norm1"
SECOND_NORM = (
    "post_attention_layernorm|pre_feedforward_layernorm|pre_ff_layernorm|"
    "ln_2|ffn_norm|post_attention_norm|norm2"
)
POST_ATTENTION = "post_attention_layernorm|post_self_attn_layernorm|post_attn_norm"
POST_MLP = "post_feedforward_layernorm|post_mlp_layernorm|post_ffn_norm"
BEFORE_MLP = "pre_feedforward_layernorm|post_attention_layernorm|pre_mlp_layernorm"


def layer_rows(at: Rows, layer: LayerClass) -> list[Draft]:
    """Every row of a layer, in the order of its forward."""
    mixer_name, mlp_name = _section(layer.mixer), _section(layer.mlp)
    host = f"{mixer_name or mlp_name}.norm"
    nth, late = 0, post_only(at.site.rank.facts, layer)
    found: list[Draft] = []
    if layer.mixer is not None:
        found += [
            *([] if late else [at.norm_before(f"{mixer_name}.norm", (_named(FIRST_NORM),))]),
            *mixer_rows(at, layer.mixer),
            *at.meeting(mixer_name),
            *_post_norm(at, layer, mixer_name, POST_ATTENTION),
            at.residual(mixer_name, nth=nth, host=f"{mlp_name}.norm" if _apart(layer) else host, alone=late),
        ]
        nth = 1
    if layer.mlp is not None:
        first = (_apart(layer) or not nth) and not late
        before = FIRST_NORM if layer.mixer is None else BEFORE_MLP_OF[layer.norms >= 4]
        found += [
            *([at.norm_before(f"{mlp_name}.norm", (_named(before),))] if first else []),
            *_extra_norms(at, layer, mlp_name),
            *(
                moe_rows(at, layer.mlp, nth=nth, apart=_shared_apart(at, layer.mlp))
                if isinstance(layer.mlp, MoeMlp)
                else mlp_rows(at, layer.mlp)
            ),
            *at.meeting(mlp_name),
            *_post_norm(at, layer, mlp_name, POST_MLP),
            at.residual(
                mlp_name,
                nth=nth + _joins(at, layer.mlp),
                host=host,
                more=(JOINED,) if nth and not _apart(layer) else (),
                alone=late,
            ),
        ]
    return found


POST_ONLY = {"olmo2", "olmo3", "flex_olmo", "exaone4", "exaone4_5", "exaone4_5_text", "olmo_hybrid"}
"""Families whose attention layers normalise what comes out of a section, never what goes in."""
BEFORE_MLP_OF = {False: SECOND_NORM, True: "pre_feedforward_layernorm|pre_mlp_layernorm"}


def mixer_rows(at: Rows, mixer: Mixer) -> list[Draft]:
    """Of any mixer."""
    if isinstance(mixer, SoftmaxAttention):
        return softmax_rows(at, mixer)
    if isinstance(mixer, LatentAttention):
        return latent_rows(at, mixer)
    if isinstance(mixer, LinearAttention):
        return delta_rows(at, mixer)
    return mamba_rows(at, mixer)


def _section(part: Mixer | Mlp | None) -> str:
    if part is None:
        return ""
    names: dict[type, str] = {LinearAttention: "linear", Mamba2: "mamba", MoeMlp: "moe"}
    softmax = isinstance(part, (SoftmaxAttention, LatentAttention))
    return names.get(type(part), "attention" if softmax else "mlp")


def _apart(layer: LayerClass) -> bool:
    """Whether the MLP has a norm of its own: not in a parallel block, nor where it stands alone."""
    return layer.mixer is not None and layer.mlp is not None and layer.norms >= 2


def _joins(at: Rows, mlp: Mlp) -> int:
    """Additions of the layer's own before that of its residual: of what runs beside the experts."""
    return int(isinstance(mlp, MoeMlp) and (mlp.parallel_dense is not None or _shared_apart(at, mlp)))


def _shared_apart(at: Rows, mlp: Mlp) -> bool:
    """Whether the layer itself, not its experts' module, adds the shared experts' output."""
    granite = at.site.rank.facts.model_type.startswith("granitemoe")
    return isinstance(mlp, MoeMlp) and bool(mlp.shared_size) and granite


def post_only(facts: ModelFacts, layer: LayerClass) -> bool:
    """Whether norms come behind the sections alone: their output is added to the residual by a launch of its own."""
    recurrent = not isinstance(layer.mixer, SoftmaxAttention)
    return facts.model_type in POST_ONLY and not recurrent


def _named(names: str) -> Cover:
    return Cover(pattern=rf"(?:{names})")


def _post_norm(at: Rows, layer: LayerClass, section: str, names: str) -> list[Draft]:
    """The norm of a section's output, before it is added to the residual."""
    if layer.norms < 4 and not post_only(at.site.rank.facts, layer):
        return []
    return [at.norm(f"{section}.post_norm", size=at.hidden, covers=(_named(names),))]


def _extra_norms(at: Rows, layer: LayerClass, section: str) -> list[Draft]:
    """Norms beyond four: of branches that run beside each other."""
    if layer.norms <= 4:
        return []
    names = r"(?:pre|post)_feedforward_layernorm_\d|post_per_layer_input_norm"
    return [
        at.norm(f"{section}.branch_norm", size=at.hidden, covers=(_named(names),), launches=layer.norms - 4)
    ]
