"""`python -m profiling`."""

from __future__ import annotations

from profiling.cli import main

if __name__ == "__main__":
    main()
