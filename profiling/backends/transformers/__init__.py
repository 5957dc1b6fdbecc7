"""The eager formulas of Hugging Face Transformers, written with plain torch."""
