"""The engine of production: a PE as a query of Spark Structured Streaming.

A host is a Python process with a JVM. Spark starts one Python process for the planner of every query, and one for the
parent of the workers. Both are forks of the *fork server*, a process that has imported their modules already
(`fork_server.py`). Spark starts `forked_python.py` in place of Python, which asks the fork server for a fork. If no
fork server answers, it becomes an ordinary Python process.

Spark's sockets and temporary files are in a directory that only their user may read (`private_directory.py`), and that
is removed when the host has ended (decision 0078). An operator may fork a child that outlives its worker. The child
closes the descriptors that it inherits, so processes that wait for the end of the worker still notice it
(`runtime/processes/forks.py`, `owner_sockets.py`).

On a Spark cluster the tasks run in executors, which get their files and settings from `cluster.py`; the planner stays
in the host (decision 0063). The process that makes data which are too large for a row keeps them until their reader
fetches them (`payload_store.py`).
"""
