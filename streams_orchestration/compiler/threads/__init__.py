"""Threads: the queues of a PE, and what several threads enter."""
