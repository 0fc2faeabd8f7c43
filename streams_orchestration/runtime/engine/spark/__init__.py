"""The engine of production: a PE as a query of Spark Structured Streaming."""
