"""Tables of lakes: what the sinks and sources of Delta and Iceberg are made of.

A task writes the tuples of a micro-batch to data files (`data_files.py`), which wait on this machine as part of its
commit; when their epoch is complete they are brought into the table with one commit of it (`delta_table.py`).
"""
