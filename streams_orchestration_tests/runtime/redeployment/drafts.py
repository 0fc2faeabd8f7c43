"""Applications that are drawn, and drafts of one application: other plans with the same results."""

from __future__ import annotations

import functools
import itertools
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration_tests.compiler.assignments import forward
from streams_orchestration_tests.runtime.applications import (
    PERIODIC,
    compiled,
    expected_totals,
    node,
    rows,
    sink,
    source,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployment.keyed_operators import Partitions

COUNT = 48
MARK = 5
"""Behind every tuple with this number there is a mark."""
DATABASES = "DRAFTS_DATABASES"
"""Variable with the directory of the databases that are written to."""
OUTSIDE: dict[str, Any] = {"annotations": {"autonomous": True}}
FUSIONS: list[dict[str, Any]] = [
    {"fusion": "legacy"},
    {"fusion": "manual", "pes": 1},
    {"fusion": "manual", "pes": 2},
    {"fusion": "manual", "pes": 4},
    {"fusion": "automatic"},
]


@dataclass(frozen=True)
class Application:
    """The properties that are drawn once for a run."""

    sinks: str
    """The kind of sink for the counts: `batch`, `gathered`, `partitioned`, `uncommitted`, `sql`."""
    parallel_sinks: bool
    """Each channel has a sink of its own."""
    tail: bool
    """There is a stateful consumer outside of regions."""
    row: bool
    """There is a second region behind the first one."""
    aggregates: bool
    """There is an aggregation by key in the parallel region, in windows of four tuples."""
    marked: bool
    """There is one in channels, whose windows are closed by marks."""
    dealt: bool
    """There are channels whose tuples are dealt round robin."""
    partitions: bool
    """There is a source in channels, whose offset is one for each partition."""


@dataclass(frozen=True)
class Draft:
    """The properties that a redeploy changes."""

    width: int
    fusion: int
    passes: bool
    """There is an operator more that hands tuples on."""
    branch: bool
    """There is a stateful branch with a source and a sink more."""
    renamed: bool
    """Operators with a uid have other names."""
    limit: int
    """A parameter that lets everything through, whatever its value."""
    reversed: bool
    """The graph is written from its end."""
    threading: str
    """The threading model of operators of a PE."""


APPLICATIONS = st.builds(
    Application,
    st.sampled_from(["batch", "gathered", "partitioned", "uncommitted", "sql"]),
    *[st.booleans()] * 7,
)
DRAFTS = st.builds(
    Draft,
    st.integers(1, 4),
    st.integers(0, len(FUSIONS) - 1),
    *[st.booleans()] * 3,
    st.integers(-3, 0),
    st.booleans(),
    st.sampled_from(["manual", "automatic", "dynamic", "dedicated"]),
)


@functools.cache
def drafted(directory: Path, application: Application, draft: Draft) -> PlannedCompilation:
    """Return an application by one of its drafts."""
    composites = {"PerKey": _per_key(application, draft)}
    graph = _graph(directory, application, draft)
    if draft.reversed:
        graph.reverse()
    options = FUSIONS[draft.fusion] | {"threading": draft.threading}
    done = compiled(graph, composites, **options)
    if options["fusion"] != "automatic":
        return done
    steps = itertools.cycle([0, 1])
    return compiled(graph, composites, **options, decoupling=forward(done, lambda: next(steps)))


def _graph(directory: Path, application: Application, draft: Draft) -> list[dict[str, Any]]:
    file = directory / "rows.parquet"
    by_key = {"parallel": {"width": draft.width, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}
    name = "Other" if draft.renamed else "Totals"
    graph = [
        source("Rows", file),
        node("Given", "Filter", "Rows", parameters={"filter": f"n >= {draft.limit}"}),
        {"name": "Counted", "operator": "PerKey", "inputs": ["Given"], "outputs": ["Counted"], "annotations": by_key},
        sink("Counts", "Counted"),
        node(name, "RunningTotals", "Given", schema="Total", uid="totals"),
        _sink(f"{name}Out", name, "Totals", application) | {"uid": "totals-out"},
    ]
    if application.tail:
        if draft.passes:
            graph.append(node("Passed", "Passing", "Rows", **OUTSIDE))
        read = "Passed" if draft.passes else "Rows"
        graph += [node("Tail", "KeyedTotals", read, schema="Total", **OUTSIDE), sink("Tails", "Tail", **OUTSIDE)]
    if application.row:
        graph += [
            node("Held", "Holding", "Rows"),
            node("Behind", "RunningTotals", "Held", schema="Total", annotations=PERIODIC),
            sink("Row", "Behind"),
        ]
    graph += _channels(application, draft.width)
    if draft.branch:
        graph += [
            source("More", file),
            node("First", "DeDuplicate", "More", parameters={"key": ["k", "n"]}),
            sink("Firsts", "First"),
        ]
    return graph


def _channels(application: Application, width: int) -> list[dict[str, Any]]:
    """Return the other operators in channels."""
    dealt = {"parallel": {"width": width}}
    graph: list[dict[str, Any]] = []
    if application.marked:
        by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Marked", "attributes": ["k"]}]}}
        window = {"window": "tumbling, punct()", "groupBy": ["k"], "output": {"n": "Sum(n)"}}
        graph += [
            node("Marked", "Punctor", "Rows", parameters={"punctuate": f"n = {MARK}", "position": "after"}),
            node("Between", "Aggregate", "Marked", parameters=window, annotations=by_key),
            sink("Betweens", "Between"),
        ]
    if application.dealt:
        graph += [node("Dealt", "Doubling", "Rows", annotations=dealt), sink("Doubles", "Dealt")]
    if application.partitions:
        outputs = [{"stream": "Parts", "schema": "Row"}]
        parts = {"name": "Parts", "operator": "Partitions", "outputs": outputs, "annotations": PERIODIC | dealt}
        graph += [parts, sink("PartsOut", "Parts")]
    return graph


def _per_key(application: Application, draft: Draft) -> dict[str, Any]:
    inner = [node("Kept", "DeDuplicate", "In", parameters={"key": ["k", "n"]}), node("Seen", "Visits", "Kept")]
    if draft.passes:
        inner[1:] = [node("Handed", "Passing", "Kept"), node("Seen", "Visits", "Handed")]
    if application.aggregates:
        window = {"window": "tumbling, count(4), partitioned", "partitionBy": ["k"], "groupBy": ["k"]}
        output = {"output": {"n": "Sum(n)"}}
        inner += [node("Fours", "Aggregate", "In", parameters=window | output), sink("FoursOut", "Fours")]
    if application.parallel_sinks:
        name = "Distinct" if draft.renamed else "Once"
        inner.append(_sink(name, "Kept", "Once", application) | {"uid": "once"})
    return {"inputs": ["In"], "outputs": ["Seen"], "graph": inner}


def _sink(name: str, stream: str, place: str, application: Application) -> dict[str, Any]:
    if application.sinks == "sql":
        parameters = {"url": f"sqlite:///{{env:{DATABASES}}}/{place}.db", "table": "t", "createTable": True}
        return {"name": name, "operator": "SqlSink", "inputs": [stream], "parameters": parameters}
    files: dict[str, dict[str, Any]] = {
        "batch": {"closeMode": "batch"},
        "gathered": {"closeMode": "epochs", "epochsPerFile": 3},
        "partitioned": {"closeMode": "batch", "partitionBy": ["k"]},
        "uncommitted": {"closeMode": "batch", "visibility": "read_uncommitted"},
    }
    return sink(name, stream, parameters={"file": place, **files[application.sinks]})


def results(local: LocalApplication, application: Application) -> dict[str, Counter[tuple[Any, ...]]]:
    """Return all rows of every sink, but of those that may come and go."""
    own = ["Totals", *(["Once"] if application.parallel_sinks else [])]
    files = [] if application.sinks == "sql" else own
    files += ["Tails"] * application.tail + ["Row"] * application.row + ["FoursOut"] * application.aggregates
    files += ["Betweens"] * application.marked + ["Doubles"] * application.dealt + ["PartsOut"] * application.partitions
    of_sinks = {place: _of_files(local.home.results(local.name) / place) for place in files}
    if application.sinks == "sql":
        of_sinks |= {place: _of_table(local.home.root / f"{place}.db") for place in own}
    return of_sinks


def wanted(application: Application) -> dict[str, Counter[tuple[Any, ...]]]:
    """Return the tuples that the sinks hold whatever redeploys there are."""
    data = rows(COUNT)
    totals = Counter[tuple[Any, ...]](expected_totals(data, factor=1))
    expected = {"Totals": totals}
    if application.tail:
        expected["Tails"] = totals
    if application.row:
        expected["Row"] = totals
    if application.parallel_sinks:
        expected["Once"] = Counter(set(data))
    if application.aggregates:
        keyed = {key: [n for k, n in data if k == key] for key, _ in data}
        fours = [(k, sum(ns[i : i + 4])) for k, ns in keyed.items() for i in range(0, len(ns) - 3, 4)]
        expected["FoursOut"] = Counter(fours)
    if application.marked:
        ends = [0, *(place for place, (_, n) in enumerate(data, 1) if n == MARK), len(data)]
        expected["Betweens"] = Counter(
            row for first, behind in itertools.pairwise(ends) for row in _sums(data[first:behind]).items()
        )
    if application.dealt:
        expected["Doubles"] = Counter((k, 2 * n) for k, n in data)
    if application.partitions:
        expected["PartsOut"] = Counter(itertools.product(map(str, range(Partitions.COUNT)), range(Partitions.EACH)))
    return expected


def _sums(data: list[tuple[Any, ...]]) -> Counter[Any]:
    sums: Counter[Any] = Counter()
    for key, n in data:
        sums[key] += n
    return sums


def last_counts(local: LocalApplication) -> dict[str, int]:
    """Return the last count of every key; they are those of distinct tuples."""
    last: dict[str, int] = {}
    for key, count in _of_files(local.home.results(local.name) / "Counts"):
        last[key] = max(count, last.get(key, 0))
    return last


def _of_files(directory: Path) -> Counter[tuple[Any, ...]]:
    counts: Counter[tuple[Any, ...]] = Counter()
    for path in directory.rglob("*.parquet"):
        if "_pending" not in path.parts:
            keys = tuple(part.partition("=")[2] for part in path.relative_to(directory).parts[:-1])
            counts.update((*keys, *row.values()) for row in pq.ParquetFile(path).read().to_pylist())
    return counts


def _of_table(file: Path) -> Counter[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return Counter(connection.execute("SELECT * FROM t").fetchall())
