"""Placement configs for hand-written graphs, and the pipeline that most tests place."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.logical_graph import LogicalGraph, ParallelRegion, PlacementGroup, Tag
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration_tests.compiler.graphs import logical_graph, operator

NOTHING = PlacementGroup()
ISOLATED = PlacementGroup(isolation=True)


def colocated(*tags: str) -> PlacementGroup:
    """Colocation under these tags."""
    return PlacementGroup(colocation=tuple(Tag("plain", tag) for tag in tags))


def exlocated(*tags: str) -> PlacementGroup:
    """Exlocation under these tags."""
    return PlacementGroup(exlocation=tuple(Tag("plain", tag) for tag in tags))


def parallel(name: str, width: int = 2, index: int = 0) -> ParallelRegion:
    """Return a parallel region."""
    return ParallelRegion(index, name, width, (), {})


def pipeline(
    src: PlacementGroup = NOTHING,
    inner: PlacementGroup = NOTHING,
    snk: PlacementGroup = NOTHING,
    width: int = 2,
    **fields: Any,
) -> LogicalGraph:
    """Src, then A and B in the region Out, then Snk."""
    return logical_graph(
        [
            operator("Src", 0, 1, partition=src, **fields),
            operator("Out.A", 1, 1, partition=inner, regions=(0,), composites=("Out",), **fields),
            operator("Out.B", 1, 1, partition=inner, regions=(0,), composites=("Out",), **fields),
            operator("Snk", 1, 0, partition=snk, **fields),
        ],
        [("Src", 0, "Out.A", 0), ("Out.A", 0, "Out.B", 0), ("Out.B", 0, "Snk", 0)],
        regions=(parallel("Out", width),),
    )


def codes(diagnostics: list[Diagnostic]) -> list[str]:
    """Codes of errors and warnings."""
    return sorted(each.code for each in diagnostics)
