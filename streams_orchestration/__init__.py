"""Streaming applications as graphs of operators: compiled, run on Spark, kept consistent by Dagster."""
