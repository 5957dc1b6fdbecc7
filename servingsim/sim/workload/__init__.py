"""Traffic: when requests arrive, how long they are, and which prefixes they share."""
