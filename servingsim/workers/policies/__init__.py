"""Which requests go into the next iteration, one policy a file.

A policy file defines `plan(requests, workers, worker) -> count`: it fills `workers.plan[:count]` with requests and
their new tokens, takes the KV blocks for them, and admits and preempts as its engine does. The names here are those
that a deployment names; their order is their code in the loop.
"""

from __future__ import annotations

POLICIES = ("vllm", "sglang", "sarathi", "prefill_first")
VLLM, SGLANG, SARATHI, PREFILL_FIRST = range(4)
