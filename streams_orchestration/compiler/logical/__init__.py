"""The first stage: an application becomes a flat graph of operators, every value in place."""
