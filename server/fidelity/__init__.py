"""Where `servingsim fidelity` gets measured rows from, and how it shows what it found."""
