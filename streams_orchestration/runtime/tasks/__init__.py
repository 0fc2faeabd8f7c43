"""The work of Python workers: the tasks of a micro-batch, the program that they run, and the data between them."""
