"""The work of Python workers: the tasks of a batch, the programs that they run, and the data between them."""
