"""Storage of bytes: the state directory, and the store of its files."""
