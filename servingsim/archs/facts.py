"""What a dense grouped-query decoder is, in numbers: everything that its cost depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servingsim.timing.contract import Dtype


@dataclass(frozen=True)
class LayerGroup:
    """Layers of identical cost.

    Attributes:
        name: `layers`, or `sliding_layers` where some attend to a window only.
        count: How many.
        window_size: Keys that a query sees, 0 for all.
    """

    name: str
    count: int
    window_size: int


@dataclass(frozen=True)
class DenseFacts:
    """The facts of one model.

    Attributes:
        model_type: As in its config.
        hidden_size: Width of the residual stream.
        num_layers: Decoder layers.
        num_heads: Query heads.
        num_kv_heads: KV heads (equal to num_heads: multi-head attention).
        head_dim: Elements of a head; num_heads * head_dim may differ from hidden_size.
        intermediate_size: Width of the MLP.
        vocab_size: Tokens of the vocabulary.
        tied_embeddings: Whether the lm_head is the embedding's transpose (no weight of its own).
        qk_norm: RMSNorm over each query and key head.
        qkv_bias: Biases on the q, k and v projections.
        o_bias: Bias on the output projection.
        mlp_bias: Biases in the MLP.
        window_size: Keys that a query of a sliding layer sees, 0 where no layer slides.
        num_sliding_layers: Layers that attend to the window only.
        max_positions: Longest context that the model is made for.
        dtype: Of activations and of unquantised weights.
        gemm_dtype: Of the layers' linear weights.
        quantisation: How the config quantises weights, empty where it does not.
    """

    model_type: str
    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    tied_embeddings: bool
    qk_norm: bool
    qkv_bias: bool
    o_bias: bool
    mlp_bias: bool
    window_size: int
    num_sliding_layers: int
    max_positions: int
    dtype: Dtype
    gemm_dtype: Dtype
    quantisation: str = ""

    @property
    def layer_groups(self) -> tuple[LayerGroup, ...]:
        """Layers by cost: full attention, then sliding."""
        full = self.num_layers - self.num_sliding_layers
        groups = (
            LayerGroup("layers", full, 0),
            LayerGroup("sliding_layers", self.num_sliding_layers, self.window_size),
        )
        return tuple(group for group in groups if group.count)

    @property
    def layer_gemm_parameters(self) -> int:
        """Elements of one layer's linear weights."""
        attention = 2 * self.num_heads * self.head_dim + 2 * self.num_kv_heads * self.head_dim
        return self.hidden_size * (attention + 3 * self.intermediate_size)

    @property
    def layer_other_parameters(self) -> int:
        """Elements of one layer's norms and biases."""
        norms = 2 * self.hidden_size + 2 * self.head_dim * self.qk_norm
        qkv = (self.num_heads + 2 * self.num_kv_heads) * self.head_dim * self.qkv_bias
        mlp = (2 * self.intermediate_size + self.hidden_size) * self.mlp_bias
        return norms + qkv + self.hidden_size * self.o_bias + mlp

    @property
    def embedding_parameters(self) -> int:
        """Elements of the embedding, and of the lm_head where it has a weight of its own."""
        return self.vocab_size * self.hidden_size * (1 if self.tied_embeddings else 2)

    @property
    def parameters(self) -> int:
        """Elements of all weights, as `model.num_parameters()` counts them."""
        layer = self.layer_gemm_parameters + self.layer_other_parameters
        return self.num_layers * layer + self.embedding_parameters + self.hidden_size
