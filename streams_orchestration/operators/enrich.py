"""Enrich: the name of `Lookup` for applications that declare it by class."""

from __future__ import annotations

from streams_orchestration.operators.standard.joining.lookup import Lookup


class Enrich(Lookup):
    """A left join of the stream with a table; the same as `Lookup`."""
