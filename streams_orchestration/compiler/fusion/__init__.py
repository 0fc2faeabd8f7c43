"""Fusion of operators into PEs: schemes, packing, search, and fusion by load."""
