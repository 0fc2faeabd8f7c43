"""Observation of running applications: status, metrics, profiles."""
