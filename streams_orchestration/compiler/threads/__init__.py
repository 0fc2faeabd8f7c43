"""Threads: the queues of PEs, and the operators that several threads enter."""
