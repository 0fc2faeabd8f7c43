"""An Export that is read before its epoch is complete: at least once, and never into a region."""

from __future__ import annotations

import functools
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    compiled,
    node,
    published,
    rows,
    sink,
)
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.exporting import (
    EVENTS,
    doubled,
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

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

UNCOMMITTED: dict[str, Any] = {"visibility": "read_uncommitted"}


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(("parameters", "early"), [({}, False), (UNCOMMITTED, True)])
def test_an_import_sees_tuples_before_their_epoch_is_complete_where_the_export_says_so(
    tmp_path: Path, parameters: dict[str, Any], early: bool
):
    writer = exporter(tmp_path, 40, streamId="s", **parameters)
    reader = importer(tmp_path, application="exporter", streamId="s")
    writer.turn(2)
    written = sum(result.rows_out for result in writer.results if result.segments)
    assert read_status(writer.catalog, "exporter").units[0].completed_epoch == 0
    reader.turn(2)
    assert 0 < written < 40
    assert published(reader.published("Kept")) == (sorted((k, 2 * n) for k, n in rows(written)) if early else [])
    (connection,) = read_status(reader.catalog, "importer").imports[0].connections
    assert (connection.uncommitted, connection.lag_tuples) == (early, 0)
    run_until_idle(writer, reader)
    assert published(reader.published("Kept")) == doubled(40)


@pytest.mark.usefixtures("database")
def test_after_a_reset_of_the_exporter_an_uncommitted_import_sees_the_replay_too(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="s", **UNCOMMITTED)
    reader = importer(tmp_path, application="exporter", streamId="s")
    writer.turn(2)
    reader.turn(2)
    before = published(reader.published("Kept"))
    writer.turn()  # taken back before anybody has read it
    reset_unit(writer.catalog, "exporter", "region-0")
    run_until_idle(writer, reader)
    assert before
    assert published(reader.published("Kept")) == sorted([*before, *doubled(40)]), "twice what was read before, no more"


def test_an_import_in_a_region_sees_complete_epochs_only_whatever_the_export_says(tmp_path: Path):
    writer, reader = (LocalApplication(Home(tmp_path), each, 5) for each in regions(tmp_path, "read_uncommitted"))
    writer.turn(2)
    assert not any(reader.plan(program) for program in reader.programs)
    (export,) = read_status(writer.catalog, "exporter").exports
    assert export.visibility == "read_uncommitted"
    assert [connection.uncommitted for connection in export.connections] == [False]


def test_retracted_segments_are_kept_for_a_batch_of_an_import_under_way(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="s", **UNCOMMITTED)
    reader = importer(tmp_path, application="exporter", streamId="s")
    heard(reader)
    writer.turn()
    reads = next(program for program in reader.programs if program.imports)
    plan = reader.plan(reads)
    assert plan is not None
    reset_unit(writer.catalog, "exporter", "region-0")
    collect_garbage(writer.catalog, "exporter", writer.programs)
    commit_batch(reader.catalog, reads, plan, reader.execute(reads, plan), 0.0)
    assert segments(writer)
    collect_garbage(writer.catalog, "exporter", writer.programs)
    assert segments(writer) == [], "nobody can name it any more"
    assert reader.plan(reads) is None, "nor does anybody read it again"


def test_retracted_segments_are_not_kept_for_a_cancelled_import(tmp_path: Path):
    writer = exporter(tmp_path, 40, streamId="s", **UNCOMMITTED)
    reader = importer(tmp_path, application="exporter", streamId="s")
    cancel_application(reader.catalog, "importer", 0.0)
    writer.turn()
    assert segments(writer)
    reset_unit(writer.catalog, "exporter", "region-0")
    collect_garbage(writer.catalog, "exporter", writer.programs)
    assert segments(writer) == []


@pytest.mark.usefixtures("database")
@POSTGRESQL_IS_DEEP
def test_an_exporter_waits_for_a_slow_uncommitted_import_in_the_middle_of_an_epoch(tmp_path: Path):
    writer = exporter(tmp_path, OUTSTANDING_LIMIT + 8, streamId="s", **UNCOMMITTED)
    writer.source_limit = 1
    reader = importer(tmp_path, application="exporter", streamId="s")
    heard(reader)
    writer.turn(OUTSTANDING_LIMIT + 8)
    (connection,) = read_status(writer.catalog, "exporter").exports[0].connections
    assert connection.lag_segments == OUTSTANDING_LIMIT
    run_until_idle(writer, reader)
    assert published(reader.published("Kept")) == doubled(OUTSTANDING_LIMIT + 8)


@given(events=EVENTS)
@examples(10)
def test_an_uncommitted_import_loses_nothing_and_sees_twice_only_what_the_exporter_took_back(
    events: list[tuple[str, int, int]], data: Path
):
    with tempfile.TemporaryDirectory() as directory:
        both = [LocalApplication(Home(Path(directory)), compilation, 4) for compilation in outside(data)]
        happen(both, events)
        seen = Counter(published(both[1].published("Kept")))
        assert not Counter(doubled(30)) - seen
        if ("reset", 0) not in [(action, side) for action, side, _ in events]:
            assert seen == Counter(doubled(30))
        for application in both:
            collect_garbage(application.catalog, application.name, application.programs)
        assert segments(both[0]) == []


@functools.cache
def outside(directory: Path) -> tuple[PlannedCompilation, PlannedCompilation]:
    """Return a region that exports uncommitted, and PEs in no region that import."""
    exporting, _ = regions(directory, "read_uncommitted")
    graph = [imported(subscription='kind == "rows"'), node("Passed", "Passing", "In"), sink("Kept", "Passed")]
    return exporting, compiled(graph, application="importer", fusion="legacy")
