"""Streams between applications of one home: Export, Import, and what one may rely on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT, SEGMENTS_LIMIT
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.transport.readers import KEPT_SEGMENTS
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.exporting import (
    AUTONOMOUS,
    EVENTS,
    doubled,
    export,
    exporter,
    happen,
    heard,
    imported,
    importer,
    regions,
    run_until_idle,
    segments,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]


@pytest.mark.usefixtures("database")
def test_an_import_takes_the_streams_whose_properties_its_subscription_names(tmp_path: Path):
    taken = exporter(tmp_path, 40, properties={"kind": "rows", "level": 2})
    other = exporter(tmp_path, 10, "other", properties={"kind": "rows", "level": 1})
    reader = importer(tmp_path, subscription='kind == "rows" && level >= 2')
    run_until_idle(taken, other, reader)
    assert published(reader.published("Kept")) == doubled(40)


def test_a_stream_id_names_a_stream_of_an_application_and_a_filter_takes_some_of_its_tuples(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="doubled")
    reader = importer(tmp_path, application="exporter", streamId="doubled", filter="n > 10 AND k <> 'a'")
    run_until_idle(writer, reader)
    assert published(reader.published("Kept")) == [(k, n) for k, n in doubled(40) if n > 10 and k != "a"]


def test_an_import_waits_for_an_application_that_is_not_deployed_yet_and_then_misses_nothing(tmp_path: Path):
    reader = importer(tmp_path, subscription='kind == "rows"')
    run_until_idle(reader)
    writer = exporter(tmp_path, 40, properties={"kind": "rows"})
    run_until_idle(writer, reader)
    assert published(reader.published("Kept")) == doubled(40)


def test_an_import_sees_complete_epochs_that_come_after_it_was_connected(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="s")
    for _ in range(3):  # 15 tuples in the first epoch, then 5 in the open one
        for program in writer.programs:
            writer.step(program)
    writer.trigger()
    for program in writer.programs:
        writer.step(program)
    before = sum(result.rows_out for result in writer.results if result.segments)
    reader = importer(tmp_path, application="exporter", streamId="s")
    run_until_idle(reader)
    assert published(reader.published("Kept")) == []
    run_until_idle(writer, reader)
    assert 0 < before < 40
    assert published(reader.published("Kept")) == sorted((k, 2 * n) for k, n in rows(40)[before:])


def test_an_application_with_an_import_does_not_end_by_itself(tmp_path: Path):
    writer = exporter(tmp_path, 10, streamId="s")
    reader = importer(tmp_path, application="exporter", streamId="s")
    run_until_idle(writer, reader)
    assert complete(writer.catalog, "exporter")
    assert not complete(reader.catalog, "importer")
    assert not any(pe.state == "COMPLETED" for pe in read_status(reader.catalog, "importer").pes)


@pytest.mark.usefixtures("database")
def test_a_stopped_import_goes_on_where_it_stood(tmp_path: Path):
    writer = exporter(tmp_path, 60, streamId="s")
    reader = importer(tmp_path, application="exporter", streamId="s")
    for _ in range(4):
        for application in (writer, reader):
            application.trigger()
            for program in application.programs:
                application.step(program)
    cancel_application(reader.catalog, "importer", 0.0)
    run_until_idle(writer)
    deploy(reader.home, deployable(reader.compilation))
    run_until_idle(reader)
    assert published(reader.published("Kept")) == doubled(60)


def test_streams_of_another_type_are_not_connected_and_the_status_says_why(tmp_path: Path):
    writer = exporter(tmp_path, 10, streamId="s")
    graph = [imported(application="exporter", streamId="s"), node("Passed", "Passing", "In", schema="Key")]
    graph[0]["outputs"] = [{"stream": "In", "schema": "Key"}]
    reader = LocalApplication(Home(tmp_path), compiled([*graph, sink("Kept", "Passed")], application="importer"), 5)
    run_until_idle(writer, reader)
    assert published(reader.published("Kept")) == []
    (connection,) = read_status(reader.catalog, "importer").imports[0].connections
    assert connection.problem == "its tuples are (k string, n bigint), the Import takes (k string)"
    assert read_status(writer.catalog, "exporter").exports[0].connections == (connection,)


def test_an_exporter_that_starts_anew_is_connected_anew(tmp_path: Path):
    writer = exporter(tmp_path, 20, streamId="s")
    reader = importer(tmp_path, application="exporter", streamId="s")
    run_until_idle(writer, reader)
    deploy(writer.home, deployable(writer.compilation), fresh=True)
    writer.scratches.clear()
    run_until_idle(writer, reader)
    assert published(reader.published("Kept")) == sorted([*doubled(20), *doubled(20)])
    assert len(read_status(reader.catalog, "importer").imports[0].connections) == 1


@pytest.mark.usefixtures("database")
@POSTGRESQL_IS_DEEP
def test_an_exporter_waits_for_a_slow_import_but_not_for_one_that_is_stopped(tmp_path: Path):
    writer = exporter(tmp_path, 2 * OUTSTANDING_LIMIT + 8, streamId="s")
    writer.source_limit = 1
    reader = importer(tmp_path, application="exporter", streamId="s")
    heard(reader)
    run_until_idle(writer)
    (connection,) = read_status(writer.catalog, "exporter").exports[0].connections
    assert connection.waited
    assert OUTSTANDING_LIMIT <= connection.lag_segments < 2 * OUTSTANDING_LIMIT
    cancel_application(reader.catalog, "importer", 0.0)
    run_until_idle(writer)
    assert complete(writer.catalog, "exporter")


def test_an_export_without_an_import_keeps_no_segments(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="s")
    run_until_idle(writer)
    collect_garbage(writer.catalog, "exporter", writer.programs)
    assert segments(writer) == []


def test_segments_that_an_import_cannot_need_any_more_are_not_kept(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="s")
    reader = importer(tmp_path, application="exporter", streamId="s")
    run_until_idle(writer)
    collect_garbage(writer.catalog, "exporter", writer.programs)
    assert segments(writer)
    complete(writer.catalog, "exporter")
    run_until_idle(reader)
    collect_garbage(reader.catalog, "importer", reader.programs)
    assert segments(writer) == []
    assert published(reader.published("Kept")) == doubled(40)


@pytest.mark.usefixtures("database")
@POSTGRESQL_IS_DEEP
def test_an_import_that_is_not_waited_for_loses_the_middle_and_the_loss_is_counted(tmp_path: Path):
    count = 4 * KEPT_SEGMENTS
    writer = exporter(tmp_path, count, streamId="s", congestionPolicy="dropConnection")
    writer.source_limit = 1
    reader = importer(tmp_path, application="exporter", streamId="s")
    heard(reader)
    run_until_idle(writer)
    collect_garbage(writer.catalog, "exporter", writer.programs)
    kept = len(segments(writer))
    assert KEPT_SEGMENTS < kept < 3 * KEPT_SEGMENTS
    run_until_idle(reader)
    read = published(reader.published("Kept"))
    assert len(read) == kept
    assert read_status(reader.catalog, "importer").imports[0].connections[0].lost == count - kept
    expected = rows(count)[:SEGMENTS_LIMIT] + rows(count)[SEGMENTS_LIMIT + count - kept :]
    assert read == sorted((k, 2 * n) for k, n in expected)


@pytest.mark.parametrize("visibility", ["read_committed", "read_uncommitted"])
@given(events=EVENTS)
@examples(10)
def test_failures_on_either_side_of_an_import_lose_and_double_nothing(
    events: list[tuple[str, int, int]], data: Path, visibility: str
):
    with tempfile.TemporaryDirectory() as directory:
        both = [LocalApplication(Home(Path(directory)), compilation, 4) for compilation in regions(data, visibility)]
        happen(both, events)
        assert published(both[1].published("Kept")) == expected_totals(rows(30))


def test_segments_that_the_exporter_itself_has_not_read_are_kept(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", 40)
    graph = [source("Rows", file), node("Doubled", "Doubling", "Rows"), export("Doubled", streamId="s")]
    compilation = compiled([*graph, sink("Kept", "Doubled", **AUTONOMOUS)], application="exporter", fusion="legacy")
    writer = LocalApplication(Home(tmp_path), compilation, 5)
    (unit,) = {program.unit for program in writer.programs if program.exports}
    writing = [program for program in writer.programs if program.unit == unit]
    for _ in range(4):
        writer.trigger()
        for program in writing:
            writer.step(program)
    collect_garbage(writer.catalog, "exporter", writer.programs, [unit])
    writer.run()
    assert published(writer.published("Kept")) == doubled(40)
