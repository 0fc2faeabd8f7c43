"""Resets that a check asks for: of every unit by itself, and of every failure once."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.settings.limits import ENTERED_LIMIT
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import LAUNCH_PAUSES, LAUNCHES
from streams_orchestration.runtime.units.reset_decisions import RETRIES, KnownFailure, decide_resets
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.cli.made_up import NOW, host, pe, status, unit
from streams_orchestration_tests.runtime.applications import expected_of_network, network, published
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.readings import changed
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.slow


def application(**changes: Any) -> ApplicationStatus:
    """Two regions, and a PE outside of regions that runs on the second host."""
    usual: dict[str, Any] = {
        "hosts": (host(id=0), host(id=1, pid=4712)),
        "pes": (pe(0), pe(1, unit="region-1"), pe(2, unit="pe-2", host=1)),
        "units": (
            unit(pes=(0,)),
            unit(name="region-1", region=1, pes=(1,)),
            unit(name="pe-2", region=None, period=None, pes=(2,)),
        ),
    }
    return status(**usual | changes)


@pytest.mark.parametrize(("waited", "failed"), [(1.0, False), (ENTERED_LIMIT + 1, True)])
def test_a_host_that_a_redeploy_has_entered_and_no_process_has_started_has_failed(waited: float, failed: bool):
    new = host(id=1, pid=None, alive=False, state="STOPPED", launched_at=NOW - waited, heartbeat_at=None)
    healing = decide_resets(application(hosts=(host(id=0), new)), NOW, {})
    assert [failure.unit for failure in healing.resets] == ["pe-2"] * failed
    assert [failure.cause.reason for failure in healing.met] == ["the new host 1 was not started in 16 s"] * failed


def test_a_host_that_was_deployed_and_not_started_yet_is_waited_for():
    new = host(id=1, pid=None, alive=False, state="STOPPED", launched_at=0.0, heartbeat_at=None)
    assert decide_resets(application(hosts=(host(id=0), new)), NOW, {}).met == ()


def failing(current: ApplicationStatus, *pes: int) -> ApplicationStatus:
    return replace(
        current,
        pes=tuple(changed(each, state="FAILED", error="boom") if each.id in pes else each for each in current.pes),
    )


def unit_with(current: ApplicationStatus, name: str, **facts: Any) -> ApplicationStatus:
    return replace(
        current, units=tuple(changed(each, **facts) if each.name == name else each for each in current.units)
    )


def host_with(current: ApplicationStatus, number: int, **facts: Any) -> ApplicationStatus:
    return replace(
        current, hosts=tuple(changed(each, **facts) if each.id == number else each for each in current.hosts)
    )


def asked(
    current: ApplicationStatus, now: float, known: dict[str, KnownFailure]
) -> tuple[list[str], dict[str, KnownFailure]]:
    healing = decide_resets(current, now, known)
    return [failure.unit for failure in healing.resets], healing.known


def test_units_that_fail_together_are_reset_together():
    assert asked(failing(application(), 0, 1), NOW, {})[0] == ["region-0", "region-1"]


def test_a_host_that_dies_takes_all_its_units_with_it():
    both = host_with(application(), 0, alive=False)
    assert asked(both, NOW, {})[0] == ["region-0", "region-1"]


def test_units_that_need_no_host_are_reset_before_units_that_wait_for_one():
    both = failing(host_with(application(), 0, alive=False), 2)
    assert asked(both, NOW, {})[0] == ["pe-2", "region-0", "region-1"]


def test_while_one_reset_hangs_another_unit_is_reset():
    first = failing(application(), 0)
    _, known = asked(first, NOW, {})
    hangs = unit_with(application(), "region-0", state="UNHEALTHY", asked=1)
    assert asked(hangs, NOW + 1, known)[0] == []
    assert asked(failing(hangs, 2), NOW + 2, known)[0] == ["pe-2"]


def test_a_unit_that_fails_again_in_its_reset_is_reset_again_at_once():
    _, known = asked(failing(application(), 0), NOW, {})
    resetting = unit_with(application(), "region-0", state="RESETTING", generation=2, attempts=1)
    assert asked(failing(resetting, 0), NOW + 1, known)[0] == ["region-0"]


def test_a_host_that_dies_while_it_comes_up_is_started_again_at_once():
    dead = host_with(application(), 1, alive=False)
    _, known = asked(dead, NOW, {})
    waiting = unit_with(dead, "pe-2", state="UNHEALTHY", asked=1)
    again = host_with(waiting, 1, launched_at=NOW + 1, launches=1)
    healing = decide_resets(again, NOW + 2, known)
    assert [failure.unit for failure in healing.met] == ["pe-2"]
    assert [failure.unit for failure in healing.resets] == ["pe-2"]
    assert decide_resets(again, NOW + 3, healing.known).resets == (), "it was answered"


def test_another_host_that_dies_while_the_first_comes_up_is_started_at_once():
    spread = replace(application(), pes=(pe(0), pe(1, unit="region-1"), pe(2, unit="region-0", host=1)))
    spread = replace(spread, units=(unit(pes=(0, 2)), spread.units[1]))
    dead = host_with(spread, 0, alive=False)
    _, known = asked(dead, NOW, {})
    waiting = unit_with(host_with(dead, 0, alive=True, launched_at=NOW + 1), "region-0", state="UNHEALTHY", asked=1)
    assert asked(waiting, NOW + 2, known)[0] == []
    assert asked(host_with(waiting, 1, alive=False), NOW + 2, known)[0] == ["region-0"]


def test_a_host_that_does_not_come_up_is_started_less_and_less_often_and_then_no_more():
    now, known, launches = NOW, {}, []
    current = host_with(application(), 1, alive=False, launches=0)
    for second in range(1000):
        now = NOW + second
        current = replace(current, hosts=tuple(changed(each, heartbeat_at=now) for each in current.hosts))
        names, known = asked(current, now, known)
        if names:
            launches.append(second)
            current = host_with(current, 1, launched_at=now, launches=current.hosts[1].row.launches + 1)
    waits = [later - earlier for earlier, later in itertools.pairwise(launches)]
    assert waits == [1, *(LAUNCH_PAUSES.after(n) for n in range(1, LAUNCHES - 1))]
    assert [failure.unit for failure in decide_resets(current, now, known).exhausted] == ["pe-2"]


def test_a_failure_that_a_reset_has_not_changed_is_answered_again_after_a_time_that_grows():
    current, known, at = failing(application(), 0), {}, []
    for second in range(0, 3600, 5):
        alive = replace(current, hosts=tuple(changed(each, heartbeat_at=NOW + second) for each in current.hosts))
        names, known = asked(alive, NOW + second, known)
        at += [second] * len(names)
    waits = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert waits[:5] == [RETRIES.first * 2**n for n in range(5)]
    assert set(waits[5:]) == {RETRIES.longest}


def test_an_exhausted_unit_does_not_keep_others_from_their_reset():
    healing = decide_resets(failing(unit_with(application(), "region-0", attempts=5), 0, 1), NOW, {})
    assert [failure.unit for failure in healing.exhausted] == ["region-0"]
    assert [failure.unit for failure in healing.resets] == ["region-1"]


@pytest.mark.parametrize(("later", "wanted"), [(0.4, []), (0.5, ["region-0"])])
def test_others_are_given_time_to_answer_first(later: float, wanted: list[str]):
    current = failing(application(), 0)
    first = decide_resets(current, NOW, {}, patience=0.5)
    assert first.resets == ()
    second = decide_resets(current, NOW + later, first.known, patience=0.5)
    assert [failure.unit for failure in second.resets] == wanted
    assert second.met == ()


def heal(local: LocalApplication, known: dict[str, KnownFailure]) -> tuple[set[str], dict[str, KnownFailure]]:
    """Reset the failed units as a healer does; return them, and the state known afterwards."""
    advance_units(local.catalog, local.name)
    healing = decide_resets(read_status(local.catalog, local.name), time.time(), known)
    for failure in healing.resets:
        reset_unit(local.catalog, local.name, failure.unit, generation=failure.generation)
    return {failure.unit for failure in healing.resets}, healing.known


def test_all_units_of_a_host_come_back_together_though_it_dies_again_in_their_reset(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), network(tmp_path, 40, fusion="legacy"), 5)
    control.launch_hosts(local.catalog, local.name)
    come_up(local)
    for program in local.programs * 2:
        local.step(program)
    known: dict[str, KnownFailure] = {}
    for launches in (2, 3):
        hosts.alive_pids.clear()
        asked_for, known = heal(local, known)
        assert asked_for == set(local.units)
        assert len(hosts.launched) == launches, "once for all of them"
        assert heal(local, known)[0] == set()
    come_up(local)
    units = read_status(local.catalog, local.name).units
    assert {(each.generation, each.row.attempts, each.state) for each in units} == {(2, 1, "PROCESSING")}, (
        "one attempt (B5)"
    )
    local.run()
    wanted = expected_of_network(40)
    assert {name: published(local.published(name)) for name in wanted} == wanted


def come_up(local: LocalApplication) -> None:
    """Hosts that were launched report, and the PEs run."""
    with local.catalog.write() as connection:
        connection.execute(update(tables.host).values(state="RUNNING", heartbeat_at=time.time(), launches=0))
    advance_units(local.catalog, local.name)
    local.report_running()


CHANGES = st.tuples(
    st.sampled_from(["fail", "mend", "die", "launch", "reset", "ask"]), st.integers(0, 2), st.integers(0, 40)
)


@given(st.lists(CHANGES, max_size=30))
def test_units_are_judged_apart_and_no_key_comes_twice(changes: list[tuple[str, int, int]]):
    current, now = application(), NOW
    known: dict[str, KnownFailure] = {}
    alone: dict[str, dict[str, KnownFailure]] = {each.name: {} for each in current.units}
    keys: list[str] = []
    for change, number, seconds in changes:
        now += seconds
        name = current.units[number].name
        match change:
            case "fail":
                current = failing(current, number)
            case "mend":
                current = replace(current, pes=tuple(pe(p.id, unit=p.unit, host=p.host) for p in current.pes))
            case "die":
                current = host_with(current, number % 2, alive=False)
            case "launch":
                current = host_with(current, number % 2, alive=True, launched_at=now)
            case "reset":
                generation = current.units[number].generation + 1
                current = unit_with(current, name, generation=generation, state="RESETTING")
            case _:
                current = unit_with(current, name, state="UNHEALTHY", asked=current.units[number].generation)
        current = replace(current, hosts=tuple(changed(each, heartbeat_at=now) for each in current.hosts))
        healing = decide_resets(current, now, known)
        known = healing.known
        keys += [f"{failure.unit} {known[failure.unit].key}" for failure in healing.resets]
        for each in current.units:
            single = decide_resets(replace(current, units=(each,)), now, alone[each.name])
            alone[each.name] = single.known
            assert single.resets == tuple(r for r in healing.resets if r.unit == each.name)
    assert len(set(keys)) == len(keys)
