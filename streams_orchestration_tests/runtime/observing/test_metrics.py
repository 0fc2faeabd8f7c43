"""The metrics in the catalog are those of what happened in an application, in bounded space."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.operators import Operator, TupleBatch
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import NotDeployedError, StaleGenerationError
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics, OperatorMetrics
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.programs.counts import add
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.queries.recording import SAMPLE_SECONDS, SAMPLES, Total, record
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    ALONE,
    compiled,
    node,
    rows,
    sink,
    source,
    totals,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.usefixtures("database")

COUNT = 60
DAY = 86_400.0


class Odd(Operator):
    """Counts what it drops."""

    def process(self, port: int, batch: TupleBatch) -> None:
        odd = batch.column("n") % 2 == 1
        self.context.metrics.dropped.add((~odd).sum())
        self.context.metrics.gauge("largest", "n of the last batch").set(batch.column("n").max())
        self.submit(batch.filter(odd))


def ran(tmp_path: Path, compilation: PlannedCompilation, source_limit: int = 25) -> LocalApplication:
    application = LocalApplication(Home(tmp_path / "home"), compilation, source_limit)
    application.run()
    return application


def metrics_of(application: LocalApplication) -> ApplicationMetrics:
    return read_metrics(application.catalog, application.name)


def by_name(metrics: ApplicationMetrics) -> dict[str, OperatorMetrics]:
    assert len({operator.name for operator in metrics.operators}) == len(metrics.operators)
    return {operator.name: operator for operator in metrics.operators}


def check_flows(compilation: PlannedCompilation, metrics: ApplicationMetrics) -> None:
    """Check that connected operators get all tuples of an operator; of a split stream, all channels together."""
    physical, operators = compilation.physical, by_name(metrics)
    names = [operator.name for operator in physical.operators]
    out = {(o.name, port.port): port for o in metrics.operators for port in o.outputs}
    expected: Counter[tuple[str, int]] = Counter()
    split: Counter[tuple[str, int]] = Counter()
    fed_by_split: dict[tuple[str, int], tuple[str, int]] = {}
    for c in physical.connections:
        sender, receiver = (names[c.source], c.source_port), (names[c.target], c.target_port)
        if c.splitter < 0:
            expected[receiver] += out[sender].tuples
        else:
            fed_by_split[receiver] = sender
    for operator in operators.values():
        for port in operator.inputs:
            if sender := fed_by_split.get((operator.name, port.port)):
                split[sender] += port.tuples
            else:
                assert port.tuples == expected[operator.name, port.port], operator.name
    assert split == {sender: out[sender].tuples for sender in set(fed_by_split.values())}
    for stream in metrics.streams:
        for reader in stream.readers:
            assert (reader.tuples, reader.segments) == (stream.tuples, stream.segments)
            assert (reader.lag_segments, reader.lag_tuples, reader.lag_seconds) == (0, 0, 0.0)
    for queue in metrics.queues:
        assert queue.wait_ns >= 0


@given(
    upstream=st.lists(st.tuples(st.integers(0, 99), st.sampled_from(["Passing", "Doubling", "RunningTotals"]))),
    fusion=st.sampled_from([{"fusion": "manual", "pes": 1}, {"fusion": "legacy"}, {"fusion": "automatic"}]),
    threading=st.sampled_from(["manual", "automatic", "dynamic", "dedicated"]),
    limit=st.sampled_from([7, 25, 100]),
)
@examples(10)
def test_tuples_out_of_one_are_tuples_into_the_next(
    tmp_path_factory: pytest.TempPathFactory,
    upstream: list[tuple[int, str]],
    fusion: dict[str, Any],
    threading: str,
    limit: int,
):
    directory = tmp_path_factory.mktemp("random")
    graph = [source("N0", write_rows(directory / "rows.parquet", COUNT))]
    plain = ["N0"]
    for number, (chosen, kind) in enumerate(upstream[:5], start=1):
        schema = "Total" if kind == "RunningTotals" else "Row"
        graph.append(node(f"N{number}", kind, plain[chosen % len(plain)], schema=schema))
        plain += [f"N{number}"] if schema == "Row" else []
    graph.append(sink("End", *plain))
    compilation = compiled(graph, **fusion, threading=threading)
    metrics = metrics_of(ran(directory, compilation, limit))
    check_flows(compilation, metrics)
    actual = by_name(metrics)
    assert {name: port.tuples for name, o in actual.items() for port in o.outputs} == dict.fromkeys(
        [f"N{number}" for number in range(len(graph) - 1)], COUNT
    )
    assert actual["End"].inputs[0].tuples == COUNT * len(plain)


@pytest.mark.covering
@pytest.mark.parametrize("options", [{"fusion": "manual", "pes": 1}, {"fusion": "legacy"}, {"threading": "dedicated"}])
def test_channels_together_have_what_was_split(tmp_path: Path, options: dict[str, Any]):
    compilation = totals(write_rows(tmp_path / "rows.parquet", COUNT), width=3, **options)
    application = ran(tmp_path, compilation)
    metrics = metrics_of(application)
    check_flows(compilation, metrics)
    assert sum(by_name(metrics)[f"PerKey[{n}].Totals"].outputs[0].tuples for n in range(3)) == COUNT
    copies: Counter[str] = Counter()
    for result in application.results:
        program = application.programs[0] if len(application.programs) == 1 else None
        copies.update({program.connection_names[n]: count for n, count in result.copies.items()} if program else {})
    if copies:
        assert {c.name: c.copies for c in metrics.connections if c.copies} == dict(copies)


def test_pes_count_their_batches_and_states_their_checkpoints(tmp_path: Path):
    application = ran(tmp_path, totals(write_rows(tmp_path / "rows.parquet", COUNT), fusion="manual", pes=1))
    metrics = metrics_of(application)
    (pe,) = metrics.pes
    assert pe.batches == len(application.results) // len(application.programs[0].tasks)
    assert pe.rows_in == sum(result.rows_in for result in application.results)
    assert pe.work_ns > 0
    stored = [state for result in application.results for state in result.states]
    kept = by_name(metrics)["PerKey[0].Totals"]
    mine = [state.files[-1].size for state in stored if state.operator == "PerKey[0].Totals"]
    assert (kept.state_bytes, kept.checkpoints, kept.checkpoint_bytes) == (mine[-1], len(mine), sum(mine))


def test_custom_metrics_are_those_that_operators_set(tmp_path: Path):
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", COUNT)), node("Odd", f"{__name__}:Odd", "Rows")]
    metrics = metrics_of(ran(tmp_path, compiled([*graph, sink("Out", "Odd")])))
    even = sum(n % 2 == 0 for _, n in rows(COUNT))
    actual = {(m.name, m.kind): (m.value, m.description) for m in by_name(metrics)["Odd"].custom}
    assert actual == {
        ("dropped", "counter"): (even, "tuples that could not be used and were left out"),
        ("largest", "gauge"): (max(n for _, n in rows(COUNT)[50:]), "n of the last batch"),
    }


def test_a_reader_that_has_not_begun_is_behind_by_all(tmp_path: Path):
    compilation = compiled(
        [source("Rows", write_rows(tmp_path / "rows.parquet", COUNT)), sink("Out", "Rows", config=ALONE)]
    )
    application = LocalApplication(Home(tmp_path / "home"), compilation, 25)
    application.step(application.programs[0])
    application.step(application.programs[0])
    (stream,) = metrics_of(application).streams
    (reader,) = stream.readers
    assert (stream.tuples, stream.segments) == (50, 2)
    assert (reader.pe, reader.tuples, reader.lag_segments, reader.lag_tuples) == (1, 0, 2, 50)
    assert reader.lag_seconds > 0


@pytest.mark.parametrize(
    ("apart", "expected"),
    [(False, [(COUNT, COUNT)]), (True, [(0, 2), (2 + COUNT, COUNT), (COUNT, COUNT)])],
    ids=["one PE", "a PE each"],
)
def test_rows_of_a_pe_are_tuples_of_streams_and_data_but_not_names_that_are_looked_for(
    tmp_path: Path, apart: bool, expected: list[tuple[int, int]]
):
    (tmp_path / "in").mkdir()
    for name, part in (("a", rows(COUNT)[:40]), ("b", rows(COUNT)[40:])):
        pq.write_table(pa.table({"k": [k for k, _ in part], "n": [n for _, n in part]}), tmp_path / "in" / name)
    scan = {
        "name": "Scan",
        "operator": "DirectoryScan",
        "outputs": [{"stream": "Names", "schema": "path string"}],
        "parameters": {"directory": str(tmp_path / "in"), "until": "latest"},
    }
    read = node("Read", "FileSource", "Names", parameters={"format": "parquet"}, config=ALONE if apart else {})
    application = ran(tmp_path, compiled([scan, read, sink("Out", "Read")], fusion="legacy" if apart else "manual"))
    status = read_status(application.catalog, application.name)
    assert [(pe.row.rows_in, pe.row.rows_out) for pe in status.pes] == expected
    assert [(pe.rows_in, pe.rows_out) for pe in metrics_of(application).pes] == expected


@pytest.mark.usefixtures("no_hosts")
def test_an_uncommitted_batch_does_not_count_and_a_replayed_one_counts_again(tmp_path: Path):
    application = LocalApplication(Home(tmp_path / "home"), totals(write_rows(tmp_path / "r.parquet", COUNT)), 25)
    (program,) = application.programs
    application.step(program)
    lost = application.plan(program)
    assert lost is not None
    results = application.execute(program, lost)
    reset_unit(application.catalog, application.name, program.unit)
    with pytest.raises(StaleGenerationError):
        commit_batch(application.catalog, program, lost, results, 0.0)
    assert metrics_of(application).pes[0].rows_in == 25
    application.run()
    assert metrics_of(application).pes[0].rows_in == 25 + COUNT
    assert by_name(metrics_of(application))["Rows"].outputs[0].tuples == 25 + COUNT


def test_nothing_is_counted_where_measuring_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_METRICS", "off")
    metrics = metrics_of(ran(tmp_path, totals(write_rows(tmp_path / "rows.parquet", COUNT))))
    assert metrics == replace(metrics, measured=False, pes=(), operators=(), streams=(), queues=(), connections=())


@pytest.fixture
def deployed(tmp_path: Path) -> LocalApplication:
    application = LocalApplication(Home(tmp_path / "home"), totals(write_rows(tmp_path / "rows.parquet", COUNT)))
    with application.catalog.write() as connection:
        connection.execute(tables.pe.update().values(state="RUNNING"))
    return application


def commit_at(application: LocalApplication, seconds: float, counts: dict[str, Any]) -> None:
    m = tables.pe_metrics
    with application.catalog.write() as connection:
        row = connection.execute(select(m.c.since, m.c.sampled_at, m.c.counts)).one_or_none()
        total = None if row is None else Total(*row)
        record(connection, application.programs[0], total, counts, seconds - 1, seconds)


def test_the_catalog_does_not_grow_over_days(deployed: LocalApplication):
    counts = {"batches": {"count": 1, "rows_in": 10}}
    for number in range(100):
        commit_at(deployed, DAY + number * 1000.7, counts)
    with Catalog(deployed.home).read() as connection:
        sizes = [
            connection.scalar(select(func.count()).select_from(table))
            for table in (tables.pe_metrics, tables.metrics_sample)
        ]
    assert sizes == [1, SAMPLES]
    assert read_metrics(Catalog(deployed.home), "app").pes[0].batches == 100


@pytest.mark.parametrize(
    ("every", "until", "wanted"),
    [
        (1.0, 30.0, 100.0),
        (1.0, 300.0, 100.0),
        (20.0, 300.0, 100.0 / 20),
        (120.0, 1200.0, 100.0 / 120),
    ],
)
def test_a_rate_is_that_of_the_last_minute(deployed: LocalApplication, every: float, until: float, wanted: float):
    at = 0.0
    while at + every <= until:
        at += every
        commit_at(deployed, DAY + at, {"batches": {"count": 1, "rows_in": 100}})
    rate = read_metrics(Catalog(deployed.home), "app", DAY + at).pes[0].rows_per_second
    assert rate == pytest.approx(wanted, rel=0.05)


def test_a_pe_that_rests_has_the_rate_0_and_one_that_does_not_run_none(deployed: LocalApplication):
    for at in range(20):
        commit_at(deployed, DAY + at, {"batches": {"count": 1, "rows_in": 100}})
    assert read_metrics(Catalog(deployed.home), "app", DAY + 200).pes[0].rows_per_second == 0
    with deployed.catalog.write() as connection:
        connection.execute(tables.pe.update().values(state="STOPPED"))
    assert read_metrics(Catalog(deployed.home), "app", DAY + 20).pes[0].rows_per_second is None


def test_samples_are_apart(deployed: LocalApplication):
    for at in range(100):
        commit_at(deployed, DAY + at / 10, {"batches": {"count": 1}})
    with deployed.catalog.read() as connection:
        times = sorted(connection.scalars(select(tables.metrics_sample.c.at)))
    assert all(later - earlier >= SAMPLE_SECONDS for earlier, later in pairwise(times))


def test_an_application_that_is_not_there_is_named(deployed: LocalApplication):
    with pytest.raises(NotDeployedError, match="other: no such application"):
        read_metrics(Catalog(deployed.home), "other")


def test_gauges_do_not_add_up():
    assert add({"gauges": {"a": 1, "b": 2}}, {"gauges": {"a": 5}}) == {"gauges": {"a": 5, "b": 2}}
