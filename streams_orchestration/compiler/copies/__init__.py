"""Copies: the connections whose consumers get a tuple by reference, and those whose consumers get a copy."""
