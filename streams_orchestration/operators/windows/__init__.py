"""Windows: the clause that declares them, and the tuples that they hold."""
