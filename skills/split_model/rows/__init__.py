"""The rows of any decoder from its facts: a file for each mixer, each MLP, and what runs outside the loop."""
