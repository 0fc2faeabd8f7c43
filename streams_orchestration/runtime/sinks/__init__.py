"""Outputs of sinks: they become visible with their epoch, and a reset retracts them.

**Sinks that write files.** An output is a file in `_pending` at first. The publisher gives it its final name by a hard
link, which never replaces another file; `publishing.py` lists the steps and the files that each step relies on. The
catalog holds the CRC-32 of the file, and the publisher compares it first.

The transaction of a reset only marks outputs as retracted. Any process then removes them, as often as needed
(`retraction.py`), and no newer output of the sink becomes visible before that. The final name of an uncommitted output
contains the generation, so a late removal never deletes an output of the replay.

A `FileSink` has small files, which the publisher of the host that times the region merges for each directory
(`gathering.py`, decision 0002). One transaction replaces the small files by the merged one, provided that all of them
still wait. Only the *gatherer* of a sink may name merged files; a process that removes files which no row names (a
*sweep*) first enters itself as the gatherer. A merged file holds only epochs before the cut, so no reset retracts it.
An output that waits to be merged does not count as late.

An object store cannot rename. There, an output waits in the store beside the states (`operators/storage/`), and the
sink's thread of the publisher uploads an output that has its final name. After the upload, the publisher forgets the
row and then removes the pending file. A repetition at any point uploads the same bytes to the same name. The final name
contains the number of the pending file, so no other output has it.

**Sinks that deliver.** An `EpochSink` delivers to another system: a database, a topic, an HTTP server. The commits name
Arrow files with its tuples. The publisher of the host that times the region passes the files of complete epochs to
`deliver`, in order, under the key life/operator/channel/epoch, and then forgets them (`delivering.py`).

`SqlSink` advances a *delivery mark* in the target in the same transaction as the rows. The delivery mark is one row for
each sink, and it is updated only if the delivery is newer. So a second publisher waits for the row lock of the first
one and then has nothing to do, a zombie finds a newer delivery mark than its own, and their table does not grow.

A sink of a lake table (`operators/lakes/`) writes data files instead of Arrow files in its tasks. The delivery merges
small files, moves the files into the directory of the table, and commits (decision 0040).
"""
