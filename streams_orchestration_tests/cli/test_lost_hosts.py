"""Directly after a host was killed everything that shows states says so, before the catalog knows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest

from streams_orchestration.cli.observing import details
from streams_orchestration.cli.terminal import rendered
from streams_orchestration.cli.top.rows import rows_of
from streams_orchestration.console.snapshots import snapshot
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.cut_checks import evaluate_checks
from streams_orchestration.orchestration.progress import deployment_event, pe_event
from streams_orchestration.orchestration.timeline import draw_timeline
from streams_orchestration.orchestration.watching import Memory
from streams_orchestration.runtime.observing.documents import build_status_document
from streams_orchestration.runtime.observing.exposition.families import FAMILIES
from streams_orchestration.runtime.observing.snapshots import ObservedApplication, Snapshot
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration_tests.cli.made_up import NOW, host, metrics, pe, status
from streams_orchestration_tests.orchestration.statuses import actions_after
from streams_orchestration_tests.runtime.readings import changed

if TYPE_CHECKING:
    import dagster as dg

States = tuple[str, ...]


def of_top(shown: ApplicationStatus) -> States:
    rows = rows_of(Snapshot(NOW, (ObservedApplication(shown, metrics(), find_failures(shown, NOW)),), (), 10, 100))
    (region,) = (row.state for row in rows if row.kind == "region")
    return *(row.state for row in rows if row.kind in ("application", "pe")), region


def of_console(shown: ApplicationStatus) -> States:
    document = snapshot(shown, metrics(), {}, NOW)
    return tuple(each["state"] for each in (document, *document["pes"], *document["units"]))


def of_dagster(shown: ApplicationStatus) -> States:
    events = (
        deployment_event(AssetKeys(), shown, metrics(), NOW),
        *(pe_event(AssetKeys(), shown, each, metrics(), None) for each in shown.pes),
    )
    states = tuple(str(event.metadata["streams/state"].value) for event in events)
    assert all(f"is {state}" in (event.description or "") for state, event in zip(states, events, strict=True))
    (row,) = cast("dg.TableMetadataValue", events[0].metadata["streams/units"]).records
    return *states, str(row.data["state"]).partition(" ")[0]


def of_checks(shown: ApplicationStatus) -> States:
    late = replace(shown, units=tuple(changed(each, completed_at=0.0) for each in shown.units), deployed_at=0.0)
    problem = evaluate_checks(late, NOW)[0].problems[0]
    (region,) = (each for each in ("LOST", "PROCESSING") if f"region-0 is {each} " in problem)
    return shown.shown_state, *(shown.state_of(each) for each in shown.pes), region


def of_the_sensor(shown: ApplicationStatus) -> States:
    remark = actions_after(shown, NOW, Memory()).memory.remark
    region = "LOST" if "region-0 is LOST" in remark else "PROCESSING"
    return shown.shown_state, *(shown.state_of(each) for each in shown.pes), region


def of_status(shown: ApplicationStatus) -> States:
    text = rendered(details(shown, NOW, metrics()), colour=False)
    table = [line.split()[2] for line in text.splitlines() if line.lstrip()[:2] in ("0 ", "1 ")][:2]
    regions = {line.split()[1] for line in text.splitlines() if line.startswith("region-0  ")}
    return text.split()[1].rstrip(","), *table, *regions


def of_status_document(shown: ApplicationStatus) -> States:
    written = build_status_document(shown, metrics(), NOW)
    return tuple(each["state"] for each in (written, *written["pes"], *written["units"]))


def of_timeline(shown: ApplicationStatus) -> States:
    (state,) = (each for each in ("LOST", "RUNNING") if f"flights: {each}<" in draw_timeline(shown, {}, NOW))
    return state, *(shown.state_of(each) for each in shown.pes), *map(shown.state_of_unit, shown.units)


def of_metrics(shown: ApplicationStatus) -> States:
    moment = Snapshot(NOW, (ObservedApplication(shown, metrics(), find_failures(shown, NOW)),), (), 10, 100)
    every = {each.name: each for families in FAMILIES.values() for each in families}
    kinds = [every[f"streams_{kind}_state"] for kind in ("application", "pe", "unit")]
    samples = [sample for kind in kinds for sample in kind.samples(moment)]
    return tuple(labels[-1] for labels, holds in samples if holds)


@pytest.mark.parametrize(
    "states",
    [of_status, of_status_document, of_top, of_console, of_dagster, of_checks, of_the_sensor, of_timeline, of_metrics],
)
def test_a_host_that_was_killed_is_lost_wherever_states_are_shown(states: Callable[[ApplicationStatus], States]):
    pes = (pe(0), pe(1, host=1))
    living = status(hosts=(host(), host(id=1)), pes=pes)
    assert states(living) == ("RUNNING", "RUNNING", "RUNNING", "PROCESSING")
    gone = status(hosts=(host(), host(id=1, alive=False)), pes=pes)
    assert states(gone) == ("LOST", "RUNNING", "LOST", "LOST")


def test_dagster_records_that_a_host_was_lost_as_a_change():
    seen = actions_after(status(), NOW, Memory()).memory
    assert not actions_after(status(), NOW + 1, seen).report
    assert actions_after(status(hosts=(host(alive=False),)), NOW + 1, seen).report
