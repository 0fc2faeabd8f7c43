"""A PE as a Structured Streaming query: cut into tasks and levels, planned batch by batch, and committed."""
