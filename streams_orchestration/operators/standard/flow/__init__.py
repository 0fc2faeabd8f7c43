"""Operators that generate, divide, unite, delay and count tuples without changing them."""
