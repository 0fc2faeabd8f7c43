"""Runs a compiled application on Spark: PEs as streaming queries, hosts, transport, catalog, epochs and reset."""
