"""What Python workers do: the tasks of a micro-batch, the program that they run, and what goes between them."""
