"""Errors of programs while they run."""

from __future__ import annotations


class RunError(Exception):
    """Error: an operation of SPL has no value for its operands, so the tuple fails."""
