"""Metrics for other systems: one table of names and labels, for Prometheus, for OpenTelemetry and for the docs."""
