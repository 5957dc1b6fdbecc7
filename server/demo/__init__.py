"""The main job on real input: a small model measured and predicted here, then a large one on H100."""
