"""PEs that are ordinary Structured Streaming queries, with Spark's own state; see decision 0053."""
