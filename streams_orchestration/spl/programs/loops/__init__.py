"""Programs as Python functions that are generated: one for each port, a loop over the tuples of a batch.

They are built as syntax trees, never as text, and the names of a program get a prefix, so no name of a program reaches
one of Python's. Line numbers of the trees are those of the SPL file.
"""
