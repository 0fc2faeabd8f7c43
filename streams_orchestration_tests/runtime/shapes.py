"""Applications of many shapes, each with what its sinks publish whatever happens on the way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration_tests.runtime.applications import (
    PERIODIC,
    RowTuple,
    expected_totals,
    node,
    rows,
    sink,
    source,
    write_rows,
)

AUTONOMOUS: dict[str, Any] = {"annotations": {"autonomous": True}}
OUTSIDE: dict[str, Any] = {"annotations": {}}
DRIVEN: dict[str, Any] = {"annotations": {"consistent": {"trigger": "operatorDriven"}}}
ONE_PE: dict[str, Any] = {"config": {"placement": {"partitionColocation": "one"}}}
MANY, FEW = 30, 7
TIMED, SECONDS = "k string, n bigint, t timestamp", "CAST(n * 1000000 AS TIMESTAMP)"


@dataclass(frozen=True)
class Shape:
    """A graph over files of `MANY`, `FEW` and no rows."""

    graph: Callable[[Path, Path, Path], list[dict[str, Any]]]
    expected: dict[str, list[RowTuple]]
    units: int
    """Units of recovery when every operator has a PE of its own."""
    fused: bool = True
    """It runs with fewer PEs, too: then they do not feed each other in a circle."""


def totals(name: str, stream: str, **more: Any) -> dict[str, Any]:
    return node(name, "RunningTotals", stream, schema="Total", **more)


def joined(name: str, left: str, right: str, **more: Any) -> dict[str, Any]:
    """Return every pair of tuples with the same key, whichever comes first."""
    parameters = {
        "window": "sliding, count(1000)", "equalityLHS": ["k"], "equalityRHS": ["k"],
        "output": {"k": "lhs_k", "number": "lhs_n", "total": "rhs_n"},
    }  # fmt: skip
    return node(name, "Join", left, right, schema="Total", parameters=parameters, **more)


def pairs(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> list[RowTuple]:
    return sorted((k, n, m) for (k, n), (other, m) in itertools.product(left, right) if k == other)


def once(*parts: list[RowTuple]) -> list[RowTuple]:
    return sorted(itertools.chain(*parts))


ALL, SOME = rows(MANY), rows(FEW, first=1000)

SHAPES = {
    "diamond": Shape(
        lambda many, few, none: [
            source("Rows", many),
            totals("Left", "Rows"),
            node("Held", "Holding", "Rows"),
            totals("Right", "Held"),
            node("Both", "Passing", "Left", schema="Total") | {"inputs": [["Left", "Right"]]},
            sink("Out", "Both"),
        ],
        {"Out": once(expected_totals(ALL, 1), expected_totals(ALL, 1))},
        units=1,
    ),
    "starts of unequal length, joined": Shape(
        lambda many, few, none: [
            source("Rows", many),
            source("Others", few),
            node("Held", "Holding", "Others"),
            joined("Pairs", "Rows", "Held"),
            sink("Out", "Pairs"),
        ],
        {"Out": pairs(ALL, SOME)},
        units=1,
    ),
    "a start without a tuple": Shape(
        lambda many, few, none: [
            source("Rows", many),
            source("Silent", none),
            node("Held", "Holding", "Silent"),
            joined("Pairs", "Rows", "Held"),
            sink("Out", "Pairs"),
            totals("Sums", "Rows"),
            sink("Totals", "Sums"),
        ],
        {"Out": [], "Totals": expected_totals(ALL, 1)},
        units=1,
    ),
    "regions side by side": Shape(
        lambda many, few, none: [
            source("Rows", many),
            totals("Sums", "Rows"),
            sink("Out", "Sums"),
            source("Others", few),
            totals("OtherSums", "Others"),
            sink("Other", "OtherSums"),
        ],
        {"Out": expected_totals(ALL, 1), "Other": expected_totals(SOME, 1)},
        units=2,
    ),
    "regions in a row": Shape(
        lambda many, few, none: [
            source("Rows", many),
            node("Held", "Holding", "Rows"),
            totals("Sums", "Held", annotations=PERIODIC),
            sink("Out", "Sums"),
        ],
        {"Out": expected_totals(ALL, 1)},
        units=2,
    ),
    "two regions and their consumer outside": Shape(
        lambda many, few, none: [
            source("Rows", many),
            source("Others", few),
            node("Either", "Passing", "Rows", **AUTONOMOUS) | {"inputs": [["Rows", "Others"]]},
            sink("Out", "Either"),
        ],
        {"Out": once(ALL, SOME)},  # pyright: ignore[reportArgumentType]
        units=4,
    ),
    "an autonomous input into a member": Shape(
        lambda many, few, none: [
            source("Rows", many),
            source("Others", few, **OUTSIDE),
            node("Held", "Holding", "Rows"),
            joined("Pairs", "Held", "Others"),
            sink("Out", "Pairs"),
        ],
        {"Out": pairs(ALL, SOME)},
        units=2,
    ),
    "a start behind an autonomous source": Shape(
        lambda many, few, none: [
            source("Rows", many, **OUTSIDE),
            totals("Sums", "Rows", annotations=PERIODIC),
            sink("Out", "Sums"),
        ],
        {"Out": expected_totals(ALL, 1)},
        units=2,
    ),
    "a start within the region of another": Shape(
        lambda many, few, none: [
            source("Rows", many),
            totals("Sums", "Rows", annotations=PERIODIC),
            totals("Mine", "Rows"),
            node("Both", "Passing", "Sums", schema="Total") | {"inputs": [["Sums", "Mine"]]},
            sink("Out", "Both"),
        ],
        {"Out": once(expected_totals(ALL, 1), expected_totals(ALL, 1))},
        units=1,
    ),
    "out of the region and back into it": Shape(
        lambda many, few, none: [
            source("Rows", many),
            node("Outside", "Holding", "Rows", **AUTONOMOUS),
            node("Held", "Holding", "Rows"),
            joined("Pairs", "Held", "Outside"),
            sink("Out", "Pairs"),
        ],
        {"Out": pairs(ALL, ALL)},
        units=1,
        fused=False,
    ),
    "an operator drives a diamond": Shape(
        lambda many, few, none: [
            source("Rows", many.parent / "*.parquet", **DRIVEN),
            totals("Left", "Rows"),
            node("Held", "Holding", "Rows"),
            node("Right", "KeyedTotals", "Held", schema="Total"),
            node("Both", "Passing", "Left", schema="Total") | {"inputs": [["Left", "Right"]]},
            sink("Out", "Both"),
        ],
        {"Out": once(expected_totals(SOME + ALL, 1), expected_totals(SOME + ALL, 1))},
        units=1,
    ),
    "operators of two regions in one PE": Shape(
        lambda many, few, none: [
            source("Rows", many),
            node("Held", "Holding", "Rows", **ONE_PE),
            totals("Sums", "Held"),
            sink("Out", "Sums"),
            source("Others", few),
            totals("OtherSums", "Others", **ONE_PE),
            sink("Other", "OtherSums"),
        ],
        {"Out": expected_totals(ALL, 1), "Other": expected_totals(SOME, 1)},
        units=1,
        fused=False,
    ),
    "tuples that wait, for others and for a while": Shape(
        lambda many, few, none: [
            source("Rows", many),
            source("Others", few),
            node("Both", "Merge", "Rows", "Others", parameters={"orderBy": "n"}),
            node("Timed", "Functor", "Both", schema=TIMED, parameters={"output": {"t": SECONDS}}),
            node("Later", "Delay", "Timed", schema=TIMED, parameters={"delay": 7, "timeAttribute": "t"}),
            node("Plain", "Functor", "Later"),
            {"name": "Show", "operator": "MetricsSink", "inputs": ["Plain"], "parameters": {"metrics": "n"}},
            node("Bytes", "Format", "Plain", schema="data binary", parameters={"format": "csv"}),
            node("Parsed", "Parse", "Bytes", parameters={"format": "csv"}),
            sink("Out", "Parsed"),
        ],
        {"Out": once(ALL, SOME)},  # pyright: ignore[reportArgumentType]
        units=1,
    ),
    "files of a directory": Shape(
        lambda many, few, none: [
            {
                "name": "Files",
                "operator": "DirectoryScan",
                "outputs": [{"stream": "Files", "schema": "file string"}],
                "parameters": {"directory": str(many.parent), "pattern": "parquet$", "until": "latest"},
                "annotations": PERIODIC,
            },
            node("Rows", "FileSource", "Files", parameters={"format": "parquet"}),
            totals("Sums", "Rows"),
            sink("Out", "Rows"),
        ],
        {"Out": once(ALL, SOME)},  # pyright: ignore[reportArgumentType]
        units=1,
    ),
    "a switch and a gate": Shape(
        lambda many, few, none: [
            source("Rows", many, **OUTSIDE),
            source("Others", few, **OUTSIDE),
            node("Passed", "Switch", "Rows", "Others", parameters={"status": "n >= 0"}),
            node("Gated", "Gate", "Passed", "Others", parameters={"maxUnackedTupleCount": 2, "numTuplesToAck": 3}),
            sink("Out", "Gated"),
        ],
        {"Out": once(ALL)},  # pyright: ignore[reportArgumentType]
        units=5,
        fused=False,
    ),
}


def write_files(directory: Path) -> tuple[Path, Path, Path]:
    """Return the files that all shapes read: many rows, few, none."""
    return (
        write_rows(directory / "many.parquet", MANY),
        write_rows(directory / "few.parquet", FEW, first=1000),
        write_rows(directory / "none.parquet", 0),
    )
