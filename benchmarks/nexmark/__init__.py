"""Nexmark: a generator of its events, its queries with standard operators, and how many events a second they take."""

from __future__ import annotations

from benchmarks.harness import Row


def rows(*, quick: bool = False) -> list[Row]:
    """Return the throughput of every query; see `throughput`."""
    from benchmarks.nexmark import throughput  # the hosts import this package for its operators

    return throughput.rows(quick=quick)
