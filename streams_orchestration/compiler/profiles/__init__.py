"""What a profile says of a physical graph: rates, loads, traffic between operators."""
