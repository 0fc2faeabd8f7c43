"""Files of tuples: rows in each format, their positions, and partition directories."""
