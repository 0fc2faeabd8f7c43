"""Lake tables: the parts shared by the sinks and sources of Delta Lake and Iceberg.

A task writes the tuples of a micro-batch to data files (`data_files.py`), which wait on this machine as part of its
commit. When their epoch is complete, one commit of the table adds them (`delta_table.py`, `iceberg_table.py`).
"""
