"""Operators that send and receive tuples over TCP, UDP and HTTP."""
