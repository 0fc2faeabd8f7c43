"""Operators that change, drop or read single tuples, or run code of users and queries of Spark."""
