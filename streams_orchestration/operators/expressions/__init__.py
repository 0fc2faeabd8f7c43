"""Expressions over the attributes of a stream, in parameters of operators."""
