"""Placing: assigns the hosts of an application to machines, and keeps hosts apart that must not share a machine.

Branch and bound: hosts with the fewest candidate machines come first, and each tries its best machines first. The
arrangement with the fewest violations wins, of those that were found in `MAX_SEARCH_STEPS` steps. Identical machines
are tried once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streams_orchestration.compiler.deployment_plan import HostRequirements
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow
from streams_orchestration.runtime.errors.errors import NoMachineError
from streams_orchestration.runtime.units.host_requirements import misfit, read_requirements, refusal
from streams_orchestration.runtime.units.status import HostStatus

NONE_FAILED: Mapping[int, Mapping[str, int]] = {}
"""The record that no host has failed to use the files of a machine."""
MAX_SEARCH_STEPS = 2000
"""The most steps of one search. After that, the best arrangement so far is taken."""


@dataclass(frozen=True, slots=True)
class Residents:
    """The hosts of an application, missing or live, and the number of other applications' hosts on each machine."""

    requirements: Mapping[int, HostRequirements]
    """The requirements of all missing and live hosts of the application."""
    at: Mapping[int, str]
    """Live host of the application -> its machine."""
    others: Counter[str] = field(default_factory=Counter[str])
    """Number of hosts of other applications on each machine."""
    failed_on: Mapping[int, Mapping[str, int]] = field(default_factory=dict[int, Mapping[str, int]])
    """Host -> how often it could not use the files of each machine. It prefers machines where that was rarer."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Machines for the hosts of an application."""

    machines: dict[int, MachineRow]
    """The machine of each placed host."""
    wrong: int
    """Number of violations: pairs of hosts that must be apart but share a machine, and hosts on unfit machines."""
    refused: dict[int, NoMachineError]
    """Hosts that no machine takes, each with the reason."""


def residents(
    rows: Iterable[HostRow],
    application: str,
    missing: Iterable[int],
    now: float,
    failed: Mapping[int, Mapping[str, int]] = NONE_FAILED,
) -> Residents:
    """Return the missing and live hosts of an application, and where the live hosts of all applications are.

    A missing host that could not use the files of its machine counts as having failed most often there, so that it
    returns only if no other machine takes it, however often it failed on the others before. The rows are of the hosts
    of all applications. Hosts in `missing` need a machine, even if their rows show them alive. `now` is in unix
    seconds, and `failed` is as `read_failed` returns it.
    """
    absent = set(missing)
    requirements = dict[int, HostRequirements]()
    at = dict[int, str]()
    others = Counter[str]()
    failed_on = {host: Counter(numbers) for host, numbers in failed.items()}
    for row in rows:
        here = row.machine if row.machine is not None and HostStatus.of(row, now).alive else None
        if row.application != application:
            others.update([here] if here is not None else [])
        elif row.id in absent:
            requirements[row.id] = read_requirements(row.id, row.requirements)
            if row.machine is not None and row.storage_error is not None:
                numbers = failed_on.setdefault(row.id, Counter())
                numbers[row.machine] = max(numbers.values(), default=0) + 1
        elif here is not None:
            requirements[row.id], at[row.id] = read_requirements(row.id, row.requirements), here
    return Residents(requirements, at, others, failed_on)


def arrange(hosts: Residents, machines: Sequence[MachineRow], now: float, *, moves: int = 0) -> Arrangement:
    """Choose a machine for every missing host that a machine takes.

    Live hosts move only if that removes violations; few moves are tried first. The other hosts are in `refused`.

    The fewest violations count first, then where the host could use files most reliably. The hosts of the application
    are then spread evenly over the machines. Among equal machines, the one with the fewest hosts of any application per
    core comes first. At most `moves` live hosts move to another machine. `now` is in unix seconds.
    """
    search = _Search(hosts, machines, now)
    best, most = search.run(0), 1
    while best.wrong and most < 2 * min(moves, len(hosts.at)):
        found = search.run(min(most, moves))
        best = found if found.wrong < best.wrong else best
        most *= 2
    return best


class _Search:
    """The search for an arrangement."""

    def __init__(self, hosts: Residents, machines: Sequence[MachineRow], now: float) -> None:
        self._hosts = hosts
        self._known = {machine.name: machine for machine in machines}
        self._refused: dict[int, NoMachineError] = {}
        self._takes: dict[int, list[str]] = {}
        requirements = hosts.requirements
        for host, required in requirements.items():
            reasons = {machine.name: refusal(required, machine, now) for machine in machines}
            self._takes[host] = [name for name, reason in reasons.items() if reason is None]
            if not self._takes[host] and host not in hosts.at:
                self._refused[host] = NoMachineError(str(required), {name: why for name, why in reasons.items() if why})
        self._rivals = {
            host: [other for other in requirements if other != host and required.apart_from(requirements[other])]
            for host, required in requirements.items()
        }
        kept: dict[str, list[int]] = {}
        for host in requirements:
            for name in self._takes[host]:
                kept.setdefault(name, []).append(host)
        self._kinds = {
            name: (tuple(kept.get(name, ())), tuple(host for host, at in hosts.at.items() if at == name))
            for name in self._known
        }
        """Name of a machine -> its kind. Machines of one kind without a placed host are interchangeable."""
        self._misfits = {
            host for host, at in hosts.at.items() if at in self._known and misfit(requirements[host], self._known[at])
        }

    def run(self, moves: int) -> Arrangement:
        """Return an arrangement with few violations.

        Each host that a machine takes is placed, and at most `moves` live ones move. The others are in `refused`.
        """
        requirements, at = self._hosts.requirements, self._hosts.at
        bound = self._misfits | {host for host in requirements if self._rivals[host]}
        self._place = {host: name for host, name in at.items() if moves == 0 or host not in bound}
        self._own = Counter(self._place.values())
        free = [host for host in requirements if host not in self._place and host not in self._refused]
        free.sort(key=lambda host: (len(self._candidates(host)), -len(self._rivals[host]), host))
        shared = sum(self._together(host, name) for host, name in self._place.items()) // 2
        wrong = shared + len(self._misfits & self._place.keys())
        found, wrong = self._search([host for host in free if host in bound], wrong, moves)
        for host, name in found.items():
            self._put(host, name)
        for host in free:
            if host not in bound:
                self._put(host, min(self._candidates(host), key=lambda name: self._order(host, name)))
        here = {host: self._known[name] for host, name in self._place.items() if name in self._known}
        return Arrangement(here, wrong, self._refused)

    def _search(self, free: Sequence[int], wrong: int, moves: int) -> tuple[dict[int, str], int]:
        """Search machines for hosts that must be apart from others. The first descent of the tree is greedy.

        After `MAX_SEARCH_STEPS` steps, the best arrangement so far is taken.

        Args:
            free: the hosts to place.
            wrong: number of violations among the hosts that stay; see `Arrangement`.
            moves: most live hosts that may leave their machine.

        Returns:
            The machine of each host, and the number of violations then.
        """
        best: dict[int, str] | None = None
        fewest, steps = 0, MAX_SEARCH_STEPS
        ways = [self._ways(free[0], moves)] if free else []
        costs, left = [wrong], [moves]
        while ways:
            depth = len(ways) - 1
            if free[depth] in self._place:
                self._take(free[depth])
            name = next(ways[-1], None)
            more = 0 if name is None else costs[-1] + self._cost(free[depth], name)
            if name is None or (best is not None and (steps <= 0 or costs[-1] >= fewest)):
                for each in (ways, costs, left):
                    each.pop()
                continue
            steps -= 1
            if best is not None and more >= fewest:
                continue
            self._put(free[depth], name)
            if depth + 1 == len(free):
                best, fewest = {host: self._place[host] for host in free}, more
                continue
            costs.append(more)
            left.append(left[-1] - self._leaves(free[depth], name))
            ways.append(self._ways(free[depth + 1], left[-1]))
        return best or {}, fewest if best is not None else wrong

    def _ways(self, host: int, moves: int) -> Iterator[str]:
        """Return the machines to try for a host, the best first.

        Of the machines of one kind without a placed host, only one is returned. If `moves` is 0, a live host gets no
        machine but its own.
        """
        tried = dict[object, str]()
        for name in sorted(self._candidates(host), key=lambda each: self._order(host, each)):
            if moves or not self._leaves(host, name):
                tried.setdefault(self._kinds.get(name) if not self._own[name] else name, name)
        return iter(tuple(tried.values()))

    def _leaves(self, host: int, name: str) -> bool:
        return self._hosts.at.get(host, name) != name

    def _put(self, host: int, name: str) -> None:
        self._place[host] = name
        self._own[name] += 1

    def _take(self, host: int) -> None:
        self._own[self._place.pop(host)] -= 1

    def _candidates(self, host: int) -> list[str]:
        """Return the machines on which a host may run: those that accept it, and in any case its present machine."""
        at = self._hosts.at.get(host)
        return [*([] if at is None or at in self._takes[host] else [at]), *self._takes[host]]

    def _together(self, host: int, name: str) -> int:
        return sum(self._place.get(rival) == name for rival in self._rivals[host])

    def _cost(self, host: int, name: str) -> int:
        return self._together(host, name) + (host in self._misfits and not self._leaves(host, name))

    def _order(self, host: int, name: str) -> tuple[int, bool, int, int, float, str]:
        load = self._own[name] + self._hosts.others[name]
        cores = self._known[name].cores if name in self._known else 1
        failed = self._hosts.failed_on.get(host, {}).get(name, 0)
        return self._cost(host, name), self._leaves(host, name), failed, self._own[name], load / cores, name
