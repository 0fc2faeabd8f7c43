"""Which machine takes a host."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from streams_orchestration.compiler.deployment_plan import HostWish
from streams_orchestration.runtime.catalog.rows import MachineRow
from streams_orchestration.runtime.errors import NoMachineError
from streams_orchestration.runtime.machines.register import Load, choose

NOW = 1000.0


def machine(name: str, **facts: Any) -> MachineRow:
    usual: dict[str, Any] = {
        "space": f"boot-{name}", "pid": 1, "process_started": 1.0, "address": f"{name}.example", "tags": [], "cores": 2,
        "state": "UP", "version": "1", "since": 0.0, "lease_until": NOW + 10, "standbys": 0, "load": 0.0,
    }  # fmt: skip
    return MachineRow(name=name, **(usual | facts))


ANY = HostWish(0, None, ())
CASES = {
    "the first by name where nothing else tells them apart": (ANY, [machine("b"), machine("a")], Load(), "a"),
    "one without a host of the application": (
        ANY, [machine("a"), machine("b")], Load(Counter(a=1, b=5), Counter(a=1)), "b",
    ),
    "one with fewer hosts for its cores": (
        ANY, [machine("a", cores=2), machine("b", cores=8)], Load(Counter(a=1, b=3)), "b",
    ),
    "the one that is named": (HostWish(0, "b", ()), [machine("a"), machine("b")], Load(), "b"),
    "the one whose host name is named": (HostWish(0, "b.example", ()), [machine("a"), machine("b")], Load(), "b"),
    "one with all tags of the pool": (
        HostWish(0, None, ("gpu", "ssd")),
        [machine("a", tags=["gpu"]), machine("b", tags=["ssd", "gpu", "x"])],
        Load(),
        "b",
    ),
    "none that is drained": (ANY, [machine("a", state="DRAINING"), machine("b")], Load(), "b"),
    "none whose lease has ended": (ANY, [machine("a", lease_until=NOW - 1), machine("b")], Load(), "b"),
}  # fmt: skip


@pytest.mark.parametrize(("wish", "machines", "load", "expected"), CASES.values(), ids=CASES)
def test_a_host_is_placed(wish: HostWish, machines: list[MachineRow], load: Load, expected: str):
    assert choose(wish, machines, load, NOW).name == expected


REFUSED = {
    "name": (HostWish(0, "c", ()), "machine c is wanted, and a has another name"),
    "tag": (HostWish(0, None, ("gpu", "ssd")), "a machine with tag gpu, ssd is wanted, and a has no tag gpu, ssd"),
    "state": (ANY, "any machine is wanted, and a is drained"),
    "down": (ANY, "any machine is wanted, and a is down, since its agent has ended"),
    "lease": (ANY, "any machine is wanted, and a is lost, since its lease has ended"),
}
FACTS: dict[str, dict[str, Any]] = {
    "state": {"state": "DRAINING"},
    "down": {"state": "DOWN"},
    "lease": {"lease_until": NOW - 1},
}


@pytest.mark.parametrize("case", REFUSED)
def test_why_no_machine_takes_a_host(case: str):
    wish, message = REFUSED[case]
    with pytest.raises(NoMachineError, match=message):
        choose(wish, [machine("a", **FACTS.get(case, {}))], Load(), NOW)
