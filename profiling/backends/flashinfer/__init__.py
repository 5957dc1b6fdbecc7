"""FlashInfer over a paged KV cache, as serving engines call it."""
