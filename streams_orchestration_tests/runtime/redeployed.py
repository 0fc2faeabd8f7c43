"""An application whose PEs are stepped by hand, and whose plan is changed in the middle of its data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import TrialRow
from streams_orchestration.runtime.catalog.trials import read_trial
from streams_orchestration.runtime.redeployment.deployed_plan import deployed_plan, preview_redeploy
from streams_orchestration.runtime.redeployment.draining import give_up_epochs
from streams_orchestration.runtime.redeployment.redeploying import PlanChange, carry_over, switch_over
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.storage.store import remove_files
from streams_orchestration.runtime.tasks.stored_states import state_files
from streams_orchestration.runtime.trials import advancing
from streams_orchestration.runtime.units.holding import close_epochs, describe_held_work, hold_units
from streams_orchestration.runtime.units.reading import application_row
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

TURNS = 200
DRAIN_TURNS = 20
"""Turns after which regions that an operator drives go back to their last cut."""
WITHIN = 600.0
"""Seconds that a redeploy may be on trial."""
COUNT = 60
"""Rows of every source."""


def visits(directory: Path, width: int, pes: int, kept: Sequence[str] = ("k", "n")) -> PlannedCompilation:
    """Rows -> (parallel by key: how often the key has come, and the first of each key) -> sinks, in one region."""
    file = write_rows(directory / "rows.parquet", COUNT)
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}
    counted = {"name": "Counted", "operator": "PerKey", "inputs": ["Rows"], "outputs": ["Counted"]}
    graph = [source("Rows", file), counted | {"annotations": by_key}, sink("Out", "Counted")]
    inner = [
        node("Kept", "DeDuplicate", "In", parameters={"key": [*kept]}),
        node("Seen", "Visits", "Kept"),
    ]
    composites = {"PerKey": {"inputs": ["In"], "outputs": ["Seen"], "graph": inner}}
    return compiled(graph, composites, fusion="manual", pes=pes)


@contextmanager
def undecided() -> Iterator[None]:
    """Let no redeploy on trial be decided in the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(advancing, "close_trial_if_decided", lambda *_: None)
        yield


def counts(local: LocalApplication) -> dict[str, int]:
    """Return the last count of every key."""
    last: dict[str, int] = {}
    for key, count in published(local.published("Out")):
        last[key] = max(count, last.get(key, 0))
    return last


def expected_counts() -> dict[str, int]:
    """Return the last count of every key at the end."""
    return dict(Counter(key for key, _ in set(rows(COUNT))))


def kept_of(local: LocalApplication) -> list[Any]:
    """Return all that the catalog has of an application, but what heartbeats and checks change."""
    with local.catalog.read() as connection:
        parts = (tables.application, tables.unit, tables.pe, tables.commit, tables.state, tables.segment, tables.sink)
        return [connection.execute(select(table)).all() for table in parts]


def run_some(local: LocalApplication, turns: int) -> None:
    """Step every PE in every turn, and end an epoch in every third."""
    for turn in range(turns):
        if turn % 3 == 2:
            local.trigger()
        for program in local.programs:
            local.step(program)


def redeploy(
    local: LocalApplication, wanted: PlannedCompilation, *, drops: bool = False, lost: Collection[str] = ()
) -> Redeployment:
    """Drain what changes, and switch to the new plan, when the one before has proved itself.

    With `drops` operators go with their states; those in `lost` begin anew.
    """
    decided(local)
    redeployment = preview_redeploy(local.catalog, deployable(wanted), lost)
    if drops:
        gone = [each.operator for each in redeployment.operators if each.action == "dropped" and each.lossy]
        redeployment = preview_redeploy(local.catalog, deployable(wanted), [*gone, *lost])
    assert redeployment.acceptable, redeployment.document()
    drained(local, redeployment.ending)
    after = at_run_time(wanted, redeployment.numbering)
    change = PlanChange(local.held(redeployment.ending), after, redeployment, WITHIN, math.inf)
    remove_files(local.home.store, switch_over(change, carry_over(change)))
    adopt(local)
    return redeployment


def adopt(local: LocalApplication) -> None:
    """Load the deployed plan, as hosts do."""
    with local.catalog.read() as connection:
        local.compilation = deployed_plan(connection, application_row(connection, local.home, local.name))
    local.programs = local.compilation.deployment.programs
    local.units = tuple({program.unit for program in local.programs})
    local.deliverers = make_deliverers(local.catalog, local.name, local.programs)
    local.scratches.clear()
    local.stop_queries()
    local.report_running()


def decided(local: LocalApplication) -> TrialRow | None:
    """Step all PEs until the last redeploy is decided; how it ended."""
    trial: TrialRow | None = None
    for _ in range(TURNS):
        local.report_running()
        with local.catalog.read() as connection:
            trial = read_trial(connection, local.name)
        if trial is None or trial.state != "OPEN":
            return trial
        _show_running(local)
        local.trigger()
        for program in local.programs:
            local.step(program)
    raise AssertionError(trial)


def _show_running(local: LocalApplication) -> None:
    """Mark the waiting PEs as running: a PE in no region that has nothing to read proves itself so."""
    p = tables.pe
    with local.catalog.write() as connection:
        wanted = (p.c.application == local.name, p.c.state == "WANTED")
        connection.execute(update(p).where(*wanted).values(state="RUNNING"))


def drained(local: LocalApplication, units: Sequence[str]) -> None:
    """Step all PEs until nothing is under way."""
    held, rest = local.held(units), ""
    for turn in range(TURNS):
        local.report_running()
        if turn == DRAIN_TURNS:
            give_up_epochs(held, ())
        hold_units(held)  # again and again, however slow the machine is
        close_epochs(held)
        for program in local.programs:
            local.step(program)
        local.publish()
        with local.catalog.read() as connection:
            rest = describe_held_work(connection, held)
        if not rest:
            return
    raise AssertionError(rest)


def begin(local: LocalApplication, width: int = 3) -> None:
    """Redeploy `visits`, which is on trial from then on."""
    directory = local.home.root.parent
    locked.begin_redeploy(local.home, deployable(visits(directory, width, 2)), within=20.0)
    adopt(local)


def set_rows(local: LocalApplication, table: Any, **values: Any) -> None:
    with local.catalog.write() as connection:
        connection.execute(update(table).values(**values))


def finish(local: LocalApplication) -> None:
    """To the end, with the results of a run without any redeploy, and with no file that nothing needs."""
    adopt(local)
    local.run()
    assert counts(local) == expected_counts()


def unneeded(local: LocalApplication) -> set[str]:
    """Files of streams, states and outputs that nothing names."""
    s, f = tables.segment, tables.sink_file
    with local.catalog.read() as connection:
        named = {*connection.scalars(select(s.c.path)), *state_files(connection, local.name)}
        named |= set(connection.scalars(select(f.c.pending)))
    there = {path for kind in ("streams", "states") for path in local.home.store.below(f"data/{local.name}/{kind}")}
    there |= {str(path) for path in local.home.results(local.name).glob("*/_pending/*")}
    assert named <= there
    return there - named
