"""Outputs of sinks: they become visible with their epoch, and a reset retracts them."""
