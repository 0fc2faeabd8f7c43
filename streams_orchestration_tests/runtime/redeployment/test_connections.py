"""Streams between applications, either of which is redeployed while the other one runs on."""

from __future__ import annotations

import functools
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.trial import revert_open
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    PERIODIC,
    compiled,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.events import EVENTS, happens
from streams_orchestration_tests.runtime.exporting import AUTONOMOUS, export, heard, imported, run_until_idle
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import adopt, redeploy, undecided

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts", "database"), POSTGRESQL_IS_DEEP]

COUNT = 40
FUSIONS: tuple[dict[str, Any], ...] = (
    {"fusion": "legacy"},
    {"fusion": "manual", "pes": 1},
    {"fusion": "manual", "pes": 2},
)


def padding(directory: Path, count: int) -> list[dict[str, Any]]:
    """Operators in front, so that those behind have other numbers, and PEs too."""
    file = write_rows(directory / "padding.parquet", 0)
    names = [f"Pad{number}" for number in range(count)]
    return [part for name in names for part in (source(name, file), sink(f"Out{name}", name))]


@functools.cache
def exporting(directory: Path, pads: int, width: int, fusion: int, consistent: bool, how: int) -> PlannedCompilation:
    """Rows, doubled in parallel by key, exported."""
    file = write_rows(directory / "rows.parquet", COUNT)
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}
    names: tuple[dict[str, Any], ...] = (
        {"streamId": "s"}, {"properties": {"kind": "rows"}}, {"streamId": "s", "visibility": "read_uncommitted"},
    )  # fmt: skip
    inner = [node("Seen", "Doubling", "In"), export("Seen", **names[how])]
    graph = [
        *padding(directory, pads),
        source("Rows", file, **({} if consistent else AUTONOMOUS)),
        {"name": "PerKey", "operator": "Exported", "inputs": ["Rows"], "annotations": by_key},
    ]
    composites = {"Exported": {"inputs": ["In"], "graph": inner}}
    return compiled(graph, composites, application="exporter", **FUSIONS[fusion])


@functools.cache
def importing(directory: Path, pads: int, name: str, fusion: int, consistent: bool, how: int) -> PlannedCompilation:
    """Return an application that imports rows, passes them on and counts them by key in an operator of this name."""
    wanted = {"subscription": 'kind == "rows"'} if how == 1 else {"application": "exporter", "streamId": "s"}
    region = {"annotations": PERIODIC} if consistent else AUTONOMOUS
    graph = [
        *padding(directory, pads),
        imported(**wanted),
        node(name, "Visits", "In", uid="counted", **region),
        sink("Counts", name, uid="counts"),
        node("Passed", "Passing", "In", **region),
        sink("Kept", "Passed"),
    ]
    return compiled(graph, application="importer", **FUSIONS[fusion])


def counts(local: LocalApplication) -> dict[str, int]:
    """Return the last count of every key."""
    last: dict[str, int] = {}
    for key, count in published(local.published("Counts")):
        last[key] = max(count, last.get(key, 0))
    return last


EXPORTERS = st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(0, 2))
"""Operators in front, width, fusion."""
IMPORTERS = st.tuples(st.integers(0, 2), st.sampled_from(["Counted", "Other"]), st.integers(0, 2))
CHAIN = st.lists(st.tuples(EVENTS, st.one_of(EXPORTERS, IMPORTERS)), min_size=1, max_size=5)


@pytest.mark.parametrize("consistent", [True, False], ids=["regions", "autonomous"])
@given(how=st.integers(0, 2), first=st.tuples(EXPORTERS, IMPORTERS), chain=CHAIN)
@examples(3)
def test_redeploys_of_either_side_lose_nothing_and_double_nothing(
    data: Path, consistent: bool, how: int, first: tuple[Any, Any], chain: list[tuple[Any, Any]]
):
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory))
        made = exporting(data, *first[0], consistent, how), importing(data, *first[1], consistent, how)
        both = [LocalApplication(home, each, 4) for each in made]
        heard(both[0])
        for events, plan in chain:
            for number, event in enumerate(events):
                happens(both[number % 2], *event)
            side = int(isinstance(plan[1], str))
            make = importing if side else exporting
            redeploy(both[side], make(data, *plan, consistent, how), drops=True)
        run_until_idle(*both)
        wanted = Counter((k, 2 * n) for k, n in rows(COUNT))
        assert Counter(published(both[1].published("Kept"))) == wanted
        assert counts(both[1]) == Counter(k for k, _ in rows(COUNT))
        assert all(each.lost == 0 for row in read_status(Catalog(home), "importer").imports for each in row.connections)


CHANGES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "operators in front of the Import": ((0, 2, 0), (2, "Counted", 0)),
    "an Import that comes into another PE": ((0, 2, 0), (0, "Counted", 1)),
    "another name": ((0, 2, 0), (0, "Other", 0)),
    "operators in front of the Export": ((2, 2, 0), (0, "Counted", 0)),
    "an Export that comes into another PE": ((0, 2, 1), (0, "Counted", 0)),
    "a channel less": ((0, 1, 0), (0, "Counted", 0)),
    "a channel more": ((0, 3, 0), (0, "Counted", 0)),
}
OFTEN = "operators in front of the Import", "an Export that comes into another PE", "a channel less"
"""Changes of each kind: other numbers of PEs, other PEs, other channels."""


@pytest.mark.parametrize("change", often(CHANGES, OFTEN))
def test_unread_exported_tuples_are_read_after_a_redeploy(change: str, data: Path, tmp_path: Path):
    exporter, importer = CHANGES[change]
    home = Home(tmp_path)
    first = exporting(data, 0, 2, 0, True, 0), importing(data, 0, "Counted", 0, True, 0)
    writer, reader = (LocalApplication(home, each, 4) for each in first)
    heard(writer)
    for turn in range(6):
        for application in (writer, reader)[: 1 + (turn < 3)]:
            application.trigger()
            for program in application.programs:
                application.step(program)
    redeploy(writer, exporting(data, *exporter, True, 0))
    redeploy(reader, importing(data, *importer, True, 0), drops=True)
    redeploy(writer, exporting(data, 0, 2, 0, True, 0), drops=True)
    run_until_idle(writer, reader)
    assert Counter(published(reader.published("Kept"))) == Counter((k, 2 * n) for k, n in rows(COUNT))
    assert counts(reader) == Counter(k for k, _ in rows(COUNT))


def test_an_export_that_an_import_is_about_no_more_is_read_up_to_there(data: Path, tmp_path: Path):
    home = Home(tmp_path)
    writer = LocalApplication(home, exporting(data, 0, 1, 1, True, 1), 4)
    reader = LocalApplication(home, importing(data, 0, "Counted", 0, True, 1), 4)
    for _ in range(2):
        writer.trigger()
        for program in writer.programs:
            writer.step(program)
    redeploy(writer, exporting(data, 0, 1, 1, True, 0))
    run_until_idle(writer, reader)
    read = published(reader.published("Kept"))
    assert 0 < len(read) < COUNT
    assert read == sorted((k, 2 * n) for k, n in rows(len(read)))


def test_tuples_exported_while_the_trial_has_no_import_are_read_after_a_revert(data: Path, tmp_path: Path):
    home = Home(tmp_path)
    writer = LocalApplication(home, exporting(data, 0, 1, 1, True, 0), 4)
    reader = LocalApplication(home, importing(data, 0, "Counted", 0, True, 0), 4)
    redeploy(reader, compiled(padding(data, 1), application="importer"), drops=True)
    run_until_idle(writer)
    redeploy(writer, exporting(data, 0, 2, 0, True, 0))
    collect_garbage(writer.catalog, writer.name, writer.programs)
    assert revert_open(reader.catalog, reader.name, "for the test")
    adopt(reader)
    run_until_idle(writer, reader)
    assert Counter(published(reader.published("Kept"))) == Counter((k, 2 * n) for k, n in rows(COUNT))
    assert counts(reader) == Counter(k for k, _ in rows(COUNT))


def test_an_import_that_is_ended_reads_nothing_of_a_redeploy_on_trial(data: Path, tmp_path: Path):
    home = Home(tmp_path)
    writer = LocalApplication(home, exporting(data, 0, 1, 1, True, 0), 4)
    reader = LocalApplication(home, importing(data, 0, "Counted", 0, True, 0), 4)
    redeploy(writer, exporting(data, 0, 1, 0, True, 0))
    with undecided():
        for _ in range(4):
            writer.trigger()
            for program in writer.programs:
                writer.step(program)
        assert sum(result.rows_in for result in writer.results) > 0
        redeploy(reader, importing(data, 0, "Counted", 0, True, 1))
        run_until_idle(reader)
    assert published(reader.published("Kept")) == []


def test_an_import_that_is_gone_is_not_waited_for(data: Path, tmp_path: Path):
    home = Home(tmp_path)
    writer = LocalApplication(home, exporting(data, 0, 1, 1, True, 0), 4)
    reader = LocalApplication(home, importing(data, 0, "Counted", 0, True, 0), 4)
    redeploy(reader, compiled(padding(data, 1), application="importer"), drops=True)
    run_until_idle(writer)
    (export_,) = read_status(Catalog(home), "exporter").exports
    assert export_.connections == ()
