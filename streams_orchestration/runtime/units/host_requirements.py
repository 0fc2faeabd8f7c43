"""The requirements of hosts: the machines on which they may run, and the hosts from which they are kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

from streams_orchestration.compiler.deployment_plan import HostRequirements
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow


def stored_requirements(required: HostRequirements) -> dict[str, Any] | None:
    """Return requirements as JSON; None if every machine suits the host."""
    if required == HostRequirements(required.host, None, ()):
        return None
    return {name: value for name, value in asdict(required).items() if name != "host"}


def read_requirements(host: int, stored: dict[str, Any] | None) -> HostRequirements:
    """Return the requirements of a host from the result of `stored_requirements`; None allows any machine."""
    if not stored:
        return HostRequirements(host, None, ())
    tags, exlocation = tuple(stored["tags"]), tuple(stored["exlocation"])
    return HostRequirements(host, stored["machine"], tags, exlocation, stored["isolated"])


def misfit(required: HostRequirements, machine: MachineRow) -> str | None:
    """Return why name or tags of a machine do not suit a host, as the end of a sentence; None if they do.

    The state of the machine and other hosts on it do not count.
    """
    if required.machine is not None and required.machine not in (machine.name, machine.address):
        return "has another name"
    missing = sorted(set(required.tags) - set(machine.tags))
    return f"has no tag {', '.join(missing)}" if missing else None


def refusal(required: HostRequirements, machine: MachineRow, now: float) -> str | None:
    """Return why a machine does not take a host, or None if it does."""
    if (reason := misfit(required, machine)) is not None:
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
    ordered = sorted(hosts, key=lambda host: host.id)
    requirements = [(host, read_requirements(host.id, host.requirements)) for host in ordered]
    found: dict[int, list[str]] = {}
    for host, required in requirements:
        machine = machines.get(host.machine or "")
        if machine is not None and (reason := misfit(required, machine)) is not None:
            found.setdefault(host.id, []).append(
                f"host {host.id} is on {machine.name}, which {reason}; it needs {required}"
            )
    for (one, its), (other, others) in combinations(requirements, 2):
        if one.machine == other.machine and (config := its.apart_from(others)) is not None:
            message = f"hosts {one.id} and {other.id} share {one.machine}, although {config} keeps them apart"
            found.setdefault(other.id, []).append(message)
    return {host: tuple(reasons) for host, reasons in found.items()}
