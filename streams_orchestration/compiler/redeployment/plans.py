"""The deployed and the wanted plan, operator by operator, and the match of their parts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property

from streams_orchestration.compiler.compilation import PlannedCompilation, Progress
from streams_orchestration.compiler.deployment_plan import DeployedPe, DeploymentPlan, Unit
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.redeployment.feeds import Feeds, Level
from streams_orchestration.compiler.redeployment.outcome import RunTimeNumbers, StatePlace
from streams_orchestration.compiler.redeployment.widths import Replica, replicas
from streams_orchestration.compiler.stage_results import FusionPlan


class Operators:
    """The operators of a compilation with a deployment plan, indexed by name, identity and PE."""

    def __init__(self, compilation: PlannedCompilation, identities: Mapping[str, str] | None = None) -> None:
        """Index the operators of a compilation.

        Args:
            compilation: the application with its deployment plan.
            identities: identities of logical operators that replace the identities of the spec.
        """
        self.compilation = compilation
        self.plan: DeploymentPlan = compilation.deployment
        self.logical: LogicalGraph = compilation.logical
        self._pes = {pe.program.pe: pe for pe in self.plan.pes}
        self.pe_of: dict[str, DeployedPe] = {}
        self.programs: dict[str, OperatorProgram] = {}
        for pe in self.plan.pes:
            for program in pe.program.operators.values():
                self.pe_of[program.name], self.programs[program.name] = pe, program
        self.replicas: dict[str, Replica] = {}
        """Physical name -> identity of the replica."""
        self.models: dict[str, LogicalOperator] = {}
        self.by_identity: dict[str, dict[tuple[int, ...], str]] = defaultdict(dict)
        """Identity of a logical operator -> the physical names of its replicas, by their local channels."""
        known_as = replicas(compilation.logical, compilation.physical)
        for physical, replica in zip(compilation.physical.operators, known_as, strict=True):
            known = (identities or {}).get(replica.name, replica.name)
            self.replicas[physical.name] = Replica(known, replica.channels)
            self.by_identity[known][replica.channels] = physical.name
            self.models[physical.name] = compilation.logical.operators[physical.logical]

    @property
    def names(self) -> frozenset[str]:
        """The names of operators that a user may write: physical and logical names, and uids."""
        identities = (replica.name for replica in self.replicas.values())
        return frozenset((*self.replicas, *(each.name for each in self.logical.operators), *identities))

    @cached_property
    def feeds(self) -> Feeds:
        """The feeds of each parallel region: splitters, Imports, and sources within the region."""
        return Feeds(self.logical)

    def model(self, identity: str) -> LogicalOperator:
        """Return the logical operator that has an identity."""
        return self.models[next(iter(self.by_identity[identity].values()))]

    def levels(self, identity: str) -> tuple[Level, ...]:
        """Return the parallel regions around a logical operator, outermost first."""
        return self.feeds.levels(self.model(identity).index)

    def place(self, name: str, pes: Mapping[int, int] | None = None) -> StatePlace:
        """Return the place of an operator's state; `pes` maps PE numbers to run-time numbers."""
        number = self.pe_of[name].program.pe
        return StatePlace(number if pes is None else pes[number], name)

    def members(self, pe: DeployedPe) -> list[Replica]:
        """Return the operators of a PE."""
        return [self.replicas[program.name] for program in pe.program.operators.values()]

    def unit_pes(self, unit: Unit) -> list[DeployedPe]:
        """Return the PEs of a unit."""
        return [self._pes[number] for number in unit.pes]


def paired(deployed: PlannedCompilation, wanted: PlannedCompilation) -> tuple[Operators, Operators]:
    """Return both plans, with equal identities for the same operators.

    An operator that gets or loses a uid is matched by its name, unless another operator has that name as its identity.
    """
    return Operators(deployed), Operators(wanted, _identities(deployed.logical, wanted.logical))


def _identities(deployed: LogicalGraph, wanted: LogicalGraph) -> dict[str, str]:
    """Map the identity of a wanted operator to its deployed identity, for operators whose uid is added or removed.

    They have the same full name in both plans, and an identity that the other plan does not have.
    """
    old, new = deployed.operators, wanted.operators
    before, after = {each.identity for each in old}, {each.identity for each in new}
    by_name = {each.name: each for each in old if each.identity not in after}
    identities: dict[str, str] = {}
    for each in new:
        former = by_name.get(each.name)
        if each.identity not in before and former is not None and not (each.uid and former.uid):
            identities[each.identity] = former.identity
    return identities


def numbering(old: Operators, new: Operators) -> RunTimeNumbers:
    """Return the run-time numbers: parts that stay keep theirs, new parts get fresh numbers and names.

    A unit outside of regions is named after its first PE in any case.
    """
    pes, hosts = pe_numbers(old.compilation.progress, new.compilation.progress)
    groups = [
        {
            number: [replica for pe in operators.unit_pes(unit) for replica in operators.members(pe)]
            for number, unit in enumerate(operators.plan.units)
        }
        for operators in (old, new)
    ]
    matches = best_matches(*groups)
    taken = {unit.name for unit in old.plan.units}
    names: dict[str, str] = {}
    for number, unit in enumerate(new.plan.units):
        previous = old.plan.units[matches[number]] if number in matches else None
        if unit.region is None:
            names[unit.name] = f"pe-{pes[unit.pes[0]]}"
        elif previous is not None and previous.region is not None:
            names[unit.name] = previous.name
        else:
            names[unit.name] = _free(unit.name, taken)
            taken.add(names[unit.name])
    return RunTimeNumbers(pes, hosts, names)


def pe_numbers(deployed: Progress, wanted: Progress) -> tuple[dict[int, int], dict[int, int]]:
    """Return the run-time numbers of the PEs and hosts of a wanted plan, by their compiled numbers."""
    identities = _identities(deployed[LogicalGraph], wanted[LogicalGraph])
    before, after = _Members(deployed, {}), _Members(wanted, identities)
    return _numbers(before.pes, after.pes), _numbers(before.hosts, after.hosts)


class _Members:
    """For each PE and each host, the identities of its operators."""

    def __init__(self, done: Progress, identities: Mapping[str, str]) -> None:
        operators = replicas(done[LogicalGraph], done[PhysicalGraph])
        known = [Replica(identities.get(name, name), channels) for name, channels in operators]
        self.pes: dict[int, list[Replica]] = {}
        self.hosts: dict[int, list[Replica]] = defaultdict(list)
        for pe in done[FusionPlan].pes:
            self.pes[pe.id] = [known[operator] for operator in pe.operators]
            self.hosts[pe.host] += self.pes[pe.id]


def best_matches(before: Mapping[int, Iterable[Hashable]], after: Mapping[int, Iterable[Hashable]]) -> dict[int, int]:
    """Match new groups with the old groups that they share the most members with.

    No group is matched twice. The largest overlaps are matched first, then the smallest numbers.

    Args:
        before: number of an old group -> its members.
        after: number of a new group -> its members.

    Returns:
        New group -> old group, for the matched groups.
    """
    home = {member: group for group, members in before.items() for member in members}
    common = Counter((home[member], group) for group, members in after.items() for member in members if member in home)
    matches: dict[int, int] = {}
    taken: set[int] = set()
    for (previous, group), _ in sorted(common.items(), key=lambda item: (-item[1], item[0])):
        if previous not in taken and group not in matches:
            matches[group] = previous
            taken.add(previous)
    return matches


def _numbers(before: Mapping[int, list[Replica]], after: Mapping[int, list[Replica]]) -> dict[int, int]:
    numbers = best_matches(before, after)
    following = max(before, default=-1) + 1
    for number in sorted(after):
        if number not in numbers:
            numbers[number] = following
            following += 1
    return numbers


def _free(name: str, taken: set[str]) -> str:
    number = 0
    while name in taken:
        number, name = number + 1, f"region-{number}"
    return name
