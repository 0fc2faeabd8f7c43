"""Operators that change, drop or look at single tuples, or run code of users and queries of Spark."""
