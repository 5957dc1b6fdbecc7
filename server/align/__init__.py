"""`align`: a measured engine beside its prediction, iteration by iteration and op by op."""
