"""PEs that are ordinary Structured Streaming queries, whose state Spark keeps; see decision 0053."""
