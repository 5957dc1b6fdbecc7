"""The tools over the Model Context Protocol: the only room that speaks it."""
