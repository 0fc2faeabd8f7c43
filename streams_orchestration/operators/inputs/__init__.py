"""The input of standard operators: failed tuples, columns for keys, and event time."""
