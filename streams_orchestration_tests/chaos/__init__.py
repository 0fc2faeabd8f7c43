"""Faults at random moments against real applications: `python -m streams_orchestration_tests.chaos --help`."""
