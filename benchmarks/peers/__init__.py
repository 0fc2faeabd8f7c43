"""The flights job in other tools, each written as its users write it, each a process of its own.

All read the same rows, count the same tuples, and write the same table as Parquet; the last line that they print says
how fast they were.
"""
