"""From a compiled model to the loop's price tables, and from the loop's visits back to what every op has cost."""
