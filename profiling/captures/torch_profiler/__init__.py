"""Chrome traces of torch.profiler: a stream of events, what they mean, and who launched what."""
