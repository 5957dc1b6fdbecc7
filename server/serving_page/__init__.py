"""A served workload for people: on a terminal, as one HTML page, as a timeline for Perfetto, as tables."""
