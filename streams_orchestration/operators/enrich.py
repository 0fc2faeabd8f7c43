"""Enrich: what `Lookup` is called in applications that declare it by its class."""

from __future__ import annotations

from streams_orchestration.operators.standard.lookup import Lookup


class Enrich(Lookup):
    """A left join of the stream with a table."""
