"""Operators that read from and write to databases, message brokers and lake tables."""
