"""The wishes of hosts: the machines on which they may run, and the hosts with which they must not share a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

from streams_orchestration.compiler.deployment_plan import HostWish
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow


def stored_wish(wish: HostWish) -> dict[str, Any] | None:
    """Return a wish as JSON; None if every machine suits the host."""
    if wish == HostWish(wish.host, None, ()):
        return None
    return {name: value for name, value in asdict(wish).items() if name != "host"}


def read_wish(host: int, stored: dict[str, Any] | None) -> HostWish:
    """Return the wish of a host from the result of `stored_wish`; None is the wish that every machine suits."""
    if not stored:
        return HostWish(host, None, ())
    tags, exlocation = tuple(stored["tags"]), tuple(stored["exlocation"])
    return HostWish(host, stored["machine"], tags, exlocation, stored["isolated"])


def misfit(wish: HostWish, machine: MachineRow) -> str | None:
    """Return why a host must not run on a machine, whatever the state of the machine; None if it may."""
    if wish.machine is not None and wish.machine not in (machine.name, machine.address):
        return "has another name"
    missing = sorted(set(wish.tags) - set(machine.tags))
    return f"has no tag {', '.join(missing)}" if missing else None


def refusal(wish: HostWish, machine: MachineRow, now: float) -> str | None:
    """Return why a machine does not take a host, or None if it does."""
    if (reason := misfit(wish, machine)) is not None:
        return reason
    if machine.state == "DRAINING":
        return "is drained"
    if machine.state == "DOWN":
        return "is down, since its agent has ended"
    return "is lost, since its lease has ended" if now > machine.lease_until else None


def misplaced(hosts: Iterable[HostRow], machines: Mapping[str, MachineRow]) -> dict[int, tuple[str, ...]]:
    """Find the hosts of an application whose placement violates their configs.

    Args:
        hosts: hosts of one application that live on machines.
        machines: the machines by name; whether a host may run on any other machine is not checked.

    Returns:
        Host -> the reasons why it is misplaced, as sentences without a full stop; other hosts are left out. If two
            hosts must not share a machine, the one with the higher number is misplaced.
    """
    wishes = [(host, read_wish(host.id, host.wish)) for host in sorted(hosts, key=lambda host: host.id)]
    found: dict[int, list[str]] = {}
    for host, wish in wishes:
        machine = machines.get(host.machine or "")
        if machine is not None and (reason := misfit(wish, machine)) is not None:
            found.setdefault(host.id, []).append(
                f"host {host.id} is on {machine.name}, which {reason}; it needs {wish}"
            )
    for (one, its), (other, others) in combinations(wishes, 2):
        if one.machine == other.machine and (config := its.apart_from(others)) is not None:
            message = f"hosts {one.id} and {other.id} share {one.machine}, although {config} keeps them apart"
            found.setdefault(other.id, []).append(message)
    return {host: tuple(reasons) for host, reasons in found.items()}
