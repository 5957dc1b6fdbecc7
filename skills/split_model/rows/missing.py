"""Kernels that rows may need before they are wired: why no other kind can stand for them."""

from __future__ import annotations

LAYER_NORM_WHY = (
    "rms_norm neither subtracts the mean nor adds a bias: another public callable, one more pass over a row"
)
MLA_WHY = (
    "the attention kinds have one head_dim for keys and values and cache keys and values apart; MLA caches one latent "
    "a token, shared by all heads, and its keys and values differ in width"
)
DELTA_WHY = "a recurrence over a state of k_head_dim x v_head_dim a head, chunked in prefill: no kind scans"
SSD_WHY = "a selective scan over a state of head_dim x state_size a head, chunked in prefill: no kind scans"
ROUTING_WHY = "scores, choice and renormalisation of topk experts in one launch: more than bytes in and out"
DISPATCH_WHY = (
    "an all-to-all that sends each token to the ranks of its experts: all_reduce and p2p move other messages between "
    "other ranks"
)
CHUNKED_WHY = (
    "window_size is the keys that every query sees; a chunked layer starts anew at each chunk and sees half of that "
    "on average: its args would mean something else"
)
WIDE_VALUES_WHY = "the attention kinds have one head_dim; here value heads are wider or narrower than keys"
INDEX_WHY = (
    "index scores of every query against every cached index key and the choice of topk of them: no kind"
)
SPARSE_WHY = "attention over chosen keys that lie apart in the cache: mla_decode reads them all, in order"
