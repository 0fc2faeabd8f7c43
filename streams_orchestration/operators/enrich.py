"""Enrich: `Lookup` under the name that the reference of specs uses."""

from __future__ import annotations

from streams_orchestration.operators.standard.joining.lookup import Lookup


class Enrich(Lookup):
    """A left join of the stream with a table, as by `Lookup`.

    It exists since the reference declares `Enrich` as its example of an operator whose model a spec declares itself,
    and such a model names a class as its implementation.
    """
