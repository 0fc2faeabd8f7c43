"""PostgresChangeSource: changes that cannot be read are errors of their own, and hide no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration_tests.operators.change_slots import drained, events, source
from streams_orchestration_tests.targets import Target, target_of

pytestmark = pytest.mark.slow


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    with target_of("postgresql", tmp_path, request) as made:
        made.run("CREATE TABLE events (id BIGINT PRIMARY KEY, k TEXT)")
        made.run("CREATE PUBLICATION changes FOR TABLE events")
        yield made


def test_changes_behind_an_error_are_read_again(target: Target):
    """The same operator may be called again after an error, at the offset before it."""
    bench = source(target, startAt="slot")
    offset = drained(bench)
    events(target, (1, "a"))
    target.run("ALTER TABLE events RENAME COLUMN k TO other")
    target.run("INSERT INTO events VALUES (2, 'b')")
    target.run("ALTER TABLE events RENAME COLUMN other TO k")
    events(target, (3, "c"))
    offset = bench.produce(offset, 1).offset
    for _ in range(3):
        with pytest.raises(DataError, match="it no longer has the column k; its columns are id, other"):
            bench.produce(offset, 1)
    assert bench.rows() == [("insert", 1, "a")]


@pytest.mark.parametrize("value", ["infinity", "-infinity", "0044-03-15 BC", "20000-01-01"])
def test_a_time_that_python_lacks_is_a_row_that_does_not_fit(target: Target, value: str):
    target.run("ALTER TABLE events ADD COLUMN t TIMESTAMPTZ, ADD COLUMN d DATE")
    add = "INSERT INTO events VALUES ({}, 'a', {}, {})"
    other = f"'{value}'"
    target.run(add.format(1, other, "NULL"))
    target.run(add.format(2, "'2020-01-01 00:00:00+00'", "'2020-01-01'"))
    bench = source(target, "op string, id bigint, t timestamp, d date", onBadTuple="drop")
    offset = drained(bench)
    target.run(add.format(3, "NULL", other))
    target.run(add.format(4, "NULL", "NULL"))
    drained(bench, offset)
    assert [(row[0], row[1]) for row in bench.rows()] == [("snapshot", 2), ("insert", 4)]
    assert bench.metrics["dropped"] == 2
    with pytest.raises(DataError, match=rf"column t: '{value.split(maxsplit=1)[0]}.*' is not a valid timestamp"):
        drained(source(target, "op string, id bigint, t timestamp"), None)
