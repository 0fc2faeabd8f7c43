"""The engines that run PEs, and the port through which a host uses them.

A host asks for queries through the *engine port* (`port.py`): start a query with a program, stop a query, report what
happened to a query. Spark is the engine of production (`spark/`). Chaos tests and simulations give the same host
engines that run no JVM.
"""
