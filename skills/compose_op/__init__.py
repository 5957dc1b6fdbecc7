"""compose_op: one operation of the forward pass, scaffolded or checked, or the one line that an atomic op is."""
