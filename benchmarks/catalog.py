"""Commits a second of a catalog in PostgreSQL, with fsync: of one unit and of ten, against bare `INSERT ... COMMIT`.

100 simulated PEs, by the product's own transactions (`catalog_load.py`).
"""

from __future__ import annotations

import os
from dataclasses import replace

from benchmarks.catalog_load import Figures, Load, run
from benchmarks.harness import Row
from streams_orchestration_tests.postgresql import why_not

COMMITS, GROWTH = 500, 0.9
"""The least commits a second over ten units, and the least growth / growth that the processors allow."""


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of commits; none without PostgreSQL."""
    if why_not() is not None:
        return []
    load = Load(pes=100, region=10, seconds=4.0 if quick else 15.0, views=False)
    ten, one = run(load), run(replace(load, region=100))
    cores = float(min(len(os.sched_getaffinity(0)), load.workers))
    return [
        Row("catalog: commits of 100 PEs in 10 units", ten.commits, "1/s", COMMITS, 1.0, at_least=True),
        Row("catalog: processors that these keep busy", busy(ten), "cores", cores),
        Row("catalog: processors that one unit keeps busy", busy(one), "cores", cores),
        Row("catalog: the same commits, to one unit", ten.commits, "1/s", one.commits),
        Row(
            "catalog: growth from one unit to ten / growth that the processors allow",
            *(ten.commits / one.commits, "times", cores / busy(one), GROWTH),
            at_least=True,
        ),
        Row("catalog: the same, to bare inserts", ten.commits, "1/s", ten.bare),
    ]


def busy(figures: Figures) -> float:
    """Return the number of processors that clients and server keep busy with the commits."""
    return figures.commits * (figures.client + figures.server) / 1e3
