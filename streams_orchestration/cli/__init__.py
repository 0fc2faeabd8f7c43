"""The `streams` command."""

from streams_orchestration.cli.entry import main

__all__ = ["main"]
