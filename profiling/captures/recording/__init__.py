"""Recording a capture and an iteration log from an engine of the user: vLLM under its own Python."""
