"""Storage of bytes: the state directory, and the store of its files.

The catalog names files by addresses relative to the *store* (`store.py`). The store is the state directory, or the
place that `STREAMS_STORAGE` names, which may be an object store. A file is written once and never changed. Its content
and its name are on disk before the commit that names it (`operators/storage/durable_files.py`, decision 0080).

States, checkpoints of queries, waiting outputs of sinks (`pending_files.py`), and segments that other hosts or units
read are in the store. The address of a segment that only PEs of the same host and unit read begins with `here:`, and
the segment stays on its machine. If the segment is lost, a reset produces it again. Its host removes it
(`hosts/segments_here.py`, decision 0064).

A file of a state that has at most 4 KiB is not written. The reference to the file (`StateFile`), in the row of the
state, holds its content with the same checksum. `tasks/state_files.py` makes all references and reads both kinds, so a
chain may have files and contents. A content is durable with its commit, and gone with its row (decision 0126).
"""
