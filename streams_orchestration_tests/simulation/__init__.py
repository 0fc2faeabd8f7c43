"""A deterministic simulation of the product: its own code in one thread, with simulated time, processes and catalogs.

A seed repeats a run to the instruction. See `python -m streams_orchestration_tests.simulation --help`.
"""
