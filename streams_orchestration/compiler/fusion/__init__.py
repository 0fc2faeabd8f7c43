"""Which operators run together in one PE: schemes, packing, search, and fusion by load."""
