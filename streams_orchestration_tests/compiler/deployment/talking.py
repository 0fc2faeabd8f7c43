"""A module that prints while it is imported."""

from streams_orchestration.operators.contract.operator import Operator

print("loaded")


class Other(Operator):
    """Takes tuples and does nothing with them."""
