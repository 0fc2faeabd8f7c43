"""Generated Python functions that run SPL programs: one for each port, with a loop over the tuples of a batch.

The functions are built as syntax trees, never as text. Names in an SPL program get a prefix, so that no SPL name refers
to a name of Python. Line numbers of the trees are lines of the SPL file.
"""
