"""Directly after a host was killed everything that shows states says so, before the catalog knows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams_orchestration.cli.top.rows import rows_of
from streams_orchestration.console.snapshots import snapshot
from streams_orchestration.orchestration.progress import deployment_event, pe_event
from streams_orchestration.orchestration.timeline import draw_timeline
from streams_orchestration.orchestration.watching import Memory, look
from streams_orchestration.runtime.observing.exposition.families import FAMILIES
from streams_orchestration.runtime.observing.snapshots import Observed, Snapshot
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.units.failures import failures
from streams_orchestration_tests.cli.made_up import NOW, host, metrics, pe, status

States = tuple[str, ...]


def of_top(shown: ApplicationStatus) -> States:
    rows = rows_of(Snapshot(NOW, (Observed(shown, metrics(), failures(shown, NOW)),), (), 10, 100))
    return tuple(row.state for row in rows if row.kind in ("application", "pe"))


def of_console(shown: ApplicationStatus) -> States:
    document = snapshot(shown, metrics(), {}, NOW)
    return document["state"], *(each["state"] for each in document["pes"])


def of_dagster(shown: ApplicationStatus) -> States:
    events = deployment_event(shown, metrics(), NOW), *(pe_event(shown, each, metrics(), None) for each in shown.pes)
    states = tuple(str(event.metadata["streams/state"].value) for event in events)
    assert all(f"is {state}" in (event.description or "") for state, event in zip(states, events, strict=True))
    return states


def of_timeline(shown: ApplicationStatus) -> States:
    (state,) = (each for each in ("LOST", "RUNNING") if f"flights: {each}<" in draw_timeline(shown, {}, NOW))
    return state, *(shown.state_of(each) for each in shown.pes)


def of_metrics(shown: ApplicationStatus) -> States:
    moment = Snapshot(NOW, (Observed(shown, metrics(), failures(shown, NOW)),), (), 10, 100)
    every = {each.name: each for families in FAMILIES.values() for each in families}
    samples = [*every["streams_application_state"].samples(moment), *every["streams_pe_state"].samples(moment)]
    return tuple(labels[-1] for labels, holds in samples if holds)


@pytest.mark.parametrize("states", [of_top, of_console, of_dagster, of_timeline, of_metrics])
def test_a_host_that_was_killed_is_lost_wherever_states_are_shown(states: Callable[[ApplicationStatus], States]):
    pes = (pe(0), pe(1, host=1))
    living = status(hosts=(host(), host(id=1)), pes=pes)
    assert states(living) == ("RUNNING", "RUNNING", "RUNNING")
    gone = status(hosts=(host(), host(id=1, alive=False)), pes=pes)
    assert states(gone) == ("LOST", "RUNNING", "LOST")


def test_dagster_records_that_a_host_was_lost_as_a_change():
    seen = look(status(), NOW, Memory()).memory
    assert not look(status(), NOW + 1, seen).report
    assert look(status(hosts=(host(alive=False),)), NOW + 1, seen).report
