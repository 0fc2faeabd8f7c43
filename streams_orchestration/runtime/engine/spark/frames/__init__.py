"""PEs that are ordinary Structured Streaming queries, whose state Spark keeps.

A PE has either `Sql` and `DataFrame` operators of the same channels, or operators of other kinds. In the first case the
PE is one query, which Spark runs without any code of this product between its operators: `composing.py` makes a view of
each input port, and composes one query over these views. The sources of the views (`source.py`) share one planner,
`FramePlanner`. It plans and commits like any planner, and records for all sources which segments belong to a batch.

If a batch closes an epoch, its commit names the files of Spark's checkpoint as the state of the PE (`checkpoints.py`).
So resets, redeploys and savepoints handle the state of a query like any other state (decisions 0053 and 0054). Before
such an application is deployed, Spark analyses its queries in a process of its own (`analysis.py`).

If an input has `eventTime`, the planner itself reads its segments (`graph_time.py`): tuples wait until the watermark
has passed them, and a row one tick below it advances Spark's own watermark. The waiting tuples are further files of the
checkpoint (`time_files.py`). The watermarks of results are segments that the planner adds to the segments of a batch
(decision 0121).
"""
