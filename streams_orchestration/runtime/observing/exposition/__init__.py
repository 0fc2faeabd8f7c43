"""Metrics for other systems. Prometheus, OpenTelemetry and the docs share one table of names and labels."""
