"""Units that another plan changes come to rest, whatever has happened to them before and happens meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND, NamedKind
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.unit_columns import Tries
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.redeployment import draining
from streams_orchestration.runtime.redeployment.state_migration import Carried, Carrier
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime import locked
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
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import adopt, redeploy
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.slow

COUNT = 20


def two_regions(directory: Path, **options: Any) -> PlannedCompilation:
    """Rows -> (another region: handed on) -> sink."""
    file = write_rows(directory / "rows.parquet", COUNT)
    graph = [source("Rows", file), node("Passed", "Passing", "Rows", annotations=PERIODIC), sink("Out", "Passed")]
    return compiled(graph, **options)


def test_segments_that_a_reset_has_retracted_are_not_awaited(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), two_regions(tmp_path, fusion="legacy"), source_limit=4)
    local.step(local.programs[0])  # segments that no epoch has completed: a gap in their numbers from the reset on
    reset_unit(local.catalog, local.name, local.programs[0].unit, force=True)
    redeploy(local, two_regions(tmp_path, fusion="manual", pes=2))
    local.run()
    assert published(local.published("Out")) == sorted(rows(COUNT))


OUTSIDE: dict[str, Any] = {"annotations": {"autonomous": True}}


def consumers(directory: Path, pes: dict[str, str], condition: str = "n >= 0") -> PlannedCompilation:
    """Return a region's rows -> outside of it (names of PEs): everything is kept -> sinks."""

    def outside(name: str) -> dict[str, Any]:
        return {"config": {"placement": {"partitionColocation": pes[name]}}} | OUTSIDE

    file = write_rows(directory / "rows.parquet", COUNT)
    graph = [source("Rows", file, config={"placement": {"partitionColocation": "of the region"}})]
    for name in pes:
        graph += [node(name, "Filter", "Rows", parameters={"filter": condition}, **outside(name))]
        graph += [sink(f"Out{name}", name, **outside(name))]
    return compiled(graph, fusion="legacy")


SPLIT = {"X": "one", "Y": "one", "Z": "other"}
CHANGES: dict[str, tuple[dict[str, str], str, str]] = {
    "an operator goes to a PE that has read less": ({"X": "one", "Y": "other", "Z": "other"}, "n >= 0", "restart"),
    "a parameter": (SPLIT, "n > -1", "run on"),
}
"""PEs, condition, what becomes of the region."""


@pytest.mark.covering
@pytest.mark.parametrize("case", CHANGES)
@pytest.mark.parametrize("epochs", [3, 60])
def test_consumers_of_a_region_that_have_read_unequally_read_everything_once(tmp_path: Path, case: str, epochs: int):
    local = LocalApplication(Home(tmp_path / "home"), consumers(tmp_path, SPLIT), source_limit=4)
    for _ in range(epochs):
        local.step(local.programs[0])
        local.trigger()
    for _ in range(epochs):
        local.step(local.programs[1])
    pes, condition, action = CHANGES[case]
    redeployment = redeploy(local, consumers(tmp_path, pes, condition))
    assert redeployment.units[0] == ("region-0", action)
    local.run()
    assert {name: published(local.published(f"Out{name}")) for name in pes} == dict.fromkeys(pes, sorted(rows(COUNT)))


def test_a_batch_that_is_committed_between_carrying_and_switching_is_drained_too(
    tmp_path: Path, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
):
    local = LocalApplication(Home(tmp_path / "home"), two_regions(tmp_path, fusion="legacy"), source_limit=4)
    carry, times = Carrier.carry, [0]

    def carried(carrier: Carrier, redeployment: Any) -> Carried:
        times[0] += 1
        if times[0] == 1:  # an epoch that was begun before the hold
            local.trigger()
            for program in local.programs:
                local.step(program)
        return carry(carrier, redeployment)

    monkeypatch.setattr(Carrier, "carry", carried)
    assert (
        locked.begin_redeploy(local.home, deployable(two_regions(tmp_path, fusion="manual", pes=2))).verdict == "kept"
    )
    assert times == [2]
    adopt(local)
    local.run()
    assert published(local.published("Out")) == sorted(rows(COUNT))


def test_an_end_of_the_sources_behind_the_cut_is_forgotten_with_the_tuples_before_it(tmp_path: Path):
    """Else the next epoch would count as the last one, though its sources have not produced everything again."""
    local = LocalApplication(Home(tmp_path / "home"), two_regions(tmp_path, fusion="legacy"), source_limit=4)
    u, first = tables.unit, local.programs[0]

    def final_epoch() -> int | None:
        with local.catalog.read() as connection:
            return connection.scalar(select(u.c.final_epoch).where(u.c.name == first.unit))

    while final_epoch() is None:
        local.step(first)
    with local.catalog.write() as connection:
        connection.execute(update(u).where(u.c.name == first.unit).values(state="UNHEALTHY"))
    draining.roll_back_failed(local.held([first.unit]))
    assert final_epoch() is None
    local.step(first)
    draining.close_epochs(local.held([first.unit]))
    local.run()
    assert published(local.published("Out")) == sorted(rows(COUNT))


def test_a_unit_that_is_taken_back_has_no_cause_but_still_counts_its_resets(tmp_path: Path):
    """No epoch is complete, so the attempts are not given back; the reset of a later cause begins an outage of its own.

    The open epoch gets a number that was never used, as in a reset.
    """
    local = LocalApplication(Home(tmp_path / "home"), two_regions(tmp_path, fusion="legacy"), source_limit=4)
    u, name = tables.unit, local.programs[0].unit
    local.step(local.programs[0])
    given_up = {"state": "MAXIMUM_RESET_ATTEMPTS_REACHED", "since": 1.0, "cause": "no answer", "kind": "service"}
    counted = {"attempts": 5, "max_attempts": 5, "tries": (Tries(NamedKind("service"), 5, 1.0),)}
    with local.catalog.write() as connection:
        of_unit = update(u).where(u.c.name == name)
        connection.execute(
            of_unit.values(**given_up, **counted, give_up_at=2.0, outage={"failed": 1.0, "detected": 1.0})
        )
        before = UnitRow.one(connection, select(u).where(u.c.name == name))
    draining.roll_back_failed(local.held([name]))
    with local.catalog.read() as connection:
        after = UnitRow.one(connection, select(u).where(u.c.name == name))
        epochs = set(connection.scalars(select(tables.pe.c.epoch).where(tables.pe.c.unit == name)))
    assert (after.state, after.generation) == ("STARTED", before.generation + 1)
    assert (after.cause, after.kind, after.give_up_at, after.outage) == (None, NO_KIND, None, None)
    assert {column: getattr(after, column) for column in counted} == counted
    assert after.since > given_up["since"]
    assert {after.current_epoch} == epochs == {before.current_epoch + 1}
