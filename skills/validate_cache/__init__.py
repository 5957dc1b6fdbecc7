"""`validate_cache`: how faithfully a kernel's cache reproduces its true time, region by region."""
