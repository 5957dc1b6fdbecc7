"""How a matrix product's time runs over its rows between two measured sizes, learnt on other devices."""
