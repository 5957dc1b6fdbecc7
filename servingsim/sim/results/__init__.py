"""What a finished simulation says: latencies, rates, where the time went, how near to capacity, how far to trust it."""
