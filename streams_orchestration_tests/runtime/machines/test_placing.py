"""Hosts are spread over machines, and hosts that are to be apart share none."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.deployment_plan import HostRequirements
from streams_orchestration.runtime.catalog.rows import MachineRow
from streams_orchestration.runtime.machines.placing import Arrangement, Residents, arrange
from streams_orchestration_tests.examples import examples

NOW = 1000.0
ANY = HostRequirements(0, None, ())


def machine(name: str, **facts: Any) -> MachineRow:
    usual: dict[str, Any] = {
        "space": f"boot-{name}", "pid": 1, "process_started": 1.0, "address": f"{name}.example", "tags": [], "cores": 2,
        "state": "UP", "version": "1", "since": 0.0, "lease_until": NOW + 10, "standbys": 0, "load": 0.0, "home": "",
    }  # fmt: skip
    return MachineRow(name=name, **(usual | facts))


def apart(host: int, *tags: str, machine: str | None = None, needs: tuple[str, ...] = ()) -> HostRequirements:
    return HostRequirements(host, machine, needs, exlocation=tags)


def alone(host: int) -> HostRequirements:
    return HostRequirements(host, None, (), isolated=True)


def placed(
    requirements: list[HostRequirements], machines: list[MachineRow], at: dict[int, str] | None = None
) -> Arrangement:
    return arrange(
        Residents({required.host: required for required in requirements}, at or {}), machines, NOW, moves=len(at or {})
    )


def names(found: Arrangement) -> dict[int, str]:
    return {host: machine.name for host, machine in found.machines.items()}


ONE = {
    "the first by name where nothing else tells them apart": (ANY, ["b", "a"], {}, {}, "a"),
    "one without a host of the application": (ANY, ["a", "b"], {7: "a"}, {"b": 5}, "b"),
    "one with fewer hosts for its cores": (ANY, ["a", ("b", {"cores": 8})], {}, {"a": 1, "b": 3}, "b"),
    "the one that is named": (HostRequirements(0, "b", ()), ["a", "b"], {}, {}, "b"),
    "the one whose host name is named": (HostRequirements(0, "b.example", ()), ["a", "b"], {}, {}, "b"),
    "one with all tags of the pool": (
        HostRequirements(0, None, ("gpu", "ssd")),
        [("a", {"tags": ["gpu"]}), ("b", {"tags": ["ssd", "gpu", "x"]})], {}, {}, "b",
    ),
    "none that is drained": (ANY, [("a", {"state": "DRAINING"}), "b"], {}, {}, "b"),
    "none whose lease has ended": (ANY, [("a", {"lease_until": NOW - 1}), "b"], {}, {}, "b"),
}  # fmt: skip


@pytest.mark.parametrize(("required", "machines", "at", "others", "expected"), ONE.values(), ids=ONE)
def test_a_host_is_placed(
    required: HostRequirements, machines: list[Any], at: dict[int, str], others: dict[str, int], expected: str
):
    there = [machine(each) if isinstance(each, str) else machine(each[0], **each[1]) for each in machines]
    requirements = {0: required} | {host: HostRequirements(host, None, ()) for host in at}
    assert names(arrange(Residents(requirements, at, Counter(others)), there, NOW))[0] == expected


@pytest.mark.parametrize(
    ("machines", "at", "failed", "expected"),
    [
        pytest.param(["a", "b"], {}, {"a": 1}, "b", id="another one"),
        pytest.param(["a", "b"], {7: "b", 8: "b"}, {"a": 1}, "b", id="another one with more hosts"),
        pytest.param(["a"], {}, {"a": 1}, "a", id="the same without others"),
        pytest.param(["a", "b", "c"], {}, {"a": 3, "b": 4, "c": 3}, "a", id="one where that was rarest"),
    ],
)
def test_a_host_that_could_not_use_the_files_of_a_machine_gets_another_one(
    machines: list[str], at: dict[int, str], failed: dict[str, int], expected: str
):
    requirements = {0: ANY} | {host: HostRequirements(host, None, ()) for host in at}
    there = [machine(each) for each in machines]
    assert names(arrange(Residents(requirements, at, failed_on={0: failed}), there, NOW))[0] == expected


REFUSED = {
    "name": (HostRequirements(0, "c", ()), "machine c is needed, and a has another name"),
    "tag": (
        HostRequirements(0, None, ("gpu", "ssd")),
        "a machine with tag gpu, ssd is needed, and a has no tag gpu, ssd",
    ),
    "state": (ANY, "any machine is needed, and a is drained"),
    "down": (ANY, "any machine is needed, and a is down, since its agent has ended"),
    "lease": (ANY, "any machine is needed, and a is lost, since its lease has ended"),
}
FACTS: dict[str, dict[str, Any]] = {
    "state": {"state": "DRAINING"},
    "down": {"state": "DOWN"},
    "lease": {"lease_until": NOW - 1},
}


@pytest.mark.parametrize("case", REFUSED)
def test_why_no_machine_takes_a_host(case: str):
    required, message = REFUSED[case]
    found = placed([required], [machine("a", **FACTS.get(case, {}))])
    assert message in str(found.refused[0])
    assert names(found) == {}


SSD = {"tags": ["ssd"]}
APART: dict[str, tuple[list[HostRequirements], list[MachineRow], dict[int, str], dict[int, str], int]] = {
    "hosts with a common tag": ([apart(0, "x"), apart(1, "x")], [machine("a"), machine("b")], {}, {0: "a", 1: "b"}, 0),
    "hosts without a common tag share one, if they must": (
        [apart(0, "x"), apart(1, "y")], [machine("a")], {}, {0: "a", 1: "a"}, 0,
    ),
    "a host that wants to be alone": ([ANY, alone(1)], [machine("a"), machine("b")], {}, {0: "a", 1: "b"}, 0),
    "the one with a choice makes room": (
        [apart(0, "x"), apart(1, "x", needs=("ssd",))], [machine("a", **SSD), machine("b")], {}, {0: "b", 1: "a"}, 0,
    ),
    "one of three shares a machine where there are two": (
        [apart(0, "x"), apart(1, "x"), apart(2, "x")], [machine("a"), machine("b")], {}, {0: "a", 1: "b", 2: "a"}, 1,
    ),
    "one of two that share a machine goes to the one that comes": (
        [apart(0, "x"), apart(1, "x"), apart(2, "x")], [machine("a"), machine("b"), machine("c")],
        {0: "a", 1: "b", 2: "a"}, {0: "a", 1: "b", 2: "c"}, 0,
    ),
    "a live host makes room for one with less choice": (
        [apart(0, "x"), apart(1, "x", needs=("ssd",))], [machine("a", **SSD), machine("b")], {0: "a"},
        {0: "b", 1: "a"}, 0,
    ),
    "nothing moves that is apart": (
        [apart(0, "x"), apart(1, "x")], [machine("a"), machine("b"), machine("c")], {0: "c", 1: "b"},
        {0: "c", 1: "b"}, 0,
    ),
    "a host leaves a machine that does not fit": (
        [HostRequirements(0, None, ("ssd",))], [machine("a"), machine("b", **SSD)], {0: "a"}, {0: "b"}, 0,
    ),
    "a host stays where it is when its machine is drained": (
        [apart(0, "x")], [machine("a", state="DRAINING"), machine("b")], {0: "a"}, {0: "a"}, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("requirements", "machines", "at", "expected", "wrong"), APART.values(), ids=APART)
def test_hosts_are_apart(
    requirements: list[HostRequirements],
    machines: list[MachineRow],
    at: dict[int, str],
    expected: dict[int, str],
    wrong: int,
):
    found = placed(requirements, machines, at)
    assert (names(found), found.wrong) == (expected, wrong)


def test_nobody_moves_unless_that_is_allowed():
    requirements = {0: apart(0, "x"), 1: apart(1, "x")}
    found = arrange(Residents(requirements, {0: "a", 1: "a"}), [machine("a"), machine("b")], NOW)
    assert (names(found), found.wrong) == ({0: "a", 1: "a"}, 1)


def test_many_alike_are_apart_at_once():
    requirements = [apart(host, "x") for host in range(40)]
    found = placed(requirements, [machine(f"m{number:02}") for number in range(41)])
    assert found.wrong == 0
    assert len(set(names(found).values())) == 40


@st.composite
def fields(draw: st.DrawFn) -> tuple[list[HostRequirements], list[MachineRow]]:
    tags = st.lists(st.sampled_from("xyz"), unique=True, max_size=2).map(tuple)
    requirements = [
        HostRequirements(
            host, None, draw(st.sampled_from([(), (), ("ssd",)])), draw(tags), draw(st.integers(0, 9)) == 0
        )
        for host in range(draw(st.integers(1, 4)))
    ]
    machines = [machine(name, **draw(st.sampled_from([{}, SSD]))) for name in "abcd"[: draw(st.integers(1, 4))]]
    return requirements, machines


def fewest(requirements: list[HostRequirements], machines: list[MachineRow]) -> int:
    """Return the fewest pairs that share a machine, by trying every way."""
    ways: list[dict[int, str]] = [{}]
    for required in requirements:
        fit = [each.name for each in machines if set(required.tags) <= set(each.tags)]
        ways = [way | {required.host: name} for way in ways for name in fit] if fit else ways
    return min(
        sum(
            one.host in way and way[one.host] == way.get(other.host) and one.apart_from(other) is not None
            for one, other in combinations(requirements, 2)
        )
        for way in ways
    )


@examples(60)
@given(fields())
def test_as_many_are_apart_as_can_be(field: tuple[list[HostRequirements], list[MachineRow]]):
    requirements, machines = field
    assert placed(requirements, machines).wrong == fewest(requirements, machines)


@examples(60)
@given(fields(), st.data())
def test_moves_put_right_what_can_be(field: tuple[list[HostRequirements], list[MachineRow]], data: st.DataObject):
    requirements, machines = field
    requirements = [
        required for required in requirements if any(set(required.tags) <= set(each.tags) for each in machines)
    ]
    at = {
        required.host: data.draw(
            st.sampled_from([each.name for each in machines if set(required.tags) <= set(each.tags)])
        )
        for required in requirements
    }
    assert placed(requirements, machines, at).wrong == fewest(requirements, machines)
