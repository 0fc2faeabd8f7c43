"""Contents of the panel on an operator."""

from __future__ import annotations

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application, col, functions
from streams_orchestration.console.detail_panel import subject


def test_an_operator_shows_the_types_of_its_expressions():
    app = Application("typed")
    numbers = app.stream(op.Beacon(iterations=3), schema="n bigint, s string", name="Numbers")
    made = numbers.select(half=col("n") / 2, up=functions.upper(col("s")), name=col("s"))
    made.apply(op.Sort(sort_by=["half", "up"]), name="Sorted").to_files("out", name="Out")
    compilation = app.compile()
    types = {name: subject(compilation, "operator", name, None, None)["types"] for name in ("made", "Sorted", "Out")}
    assert types == {
        "made": {"output.half": "double", "output.up": "string", "output.name": "string"},
        "Sorted": {"sortBy": "double, string"},
        "Out": {},
    }
