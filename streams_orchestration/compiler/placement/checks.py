"""Contradictions between placement configs of operators that have to share a PE or a host (rules 51, 53)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import HostSpec, Placements
from streams_orchestration.model.diagnostics import Diagnostic


def check_placements(logical: LogicalGraph, physical: PhysicalGraph, placements: Placements) -> list[Diagnostic]:
    """Return all contradictions, each once for its logical operators.

    The checks cover replicas, so that they also see contradictions that only the expansion causes, such as siblings
    that share both a colocation and an exlocation tag. Ids of the compile-time checks are kept: CDISP0284E to 0289E
    within a colocation, 0291E to 0294E where host isolation makes a host colocation one PE, 0290E and 0295E on a host.
    """
    check = _PlacementCheck(logical, physical, placements)
    diagnostics: dict[tuple[str, str, int, int], Diagnostic] = {}
    for code, tag, first, second, message in check.all():
        key = (code, tag, physical.operators[first].logical, physical.operators[second].logical)
        if key not in diagnostics:
            model = check.model(first)
            diagnostics[key] = Diagnostic.of(code, message, operator=model.name, location=model.location)
    return list(diagnostics.values())


_Contradiction = tuple[str, str, int, int, str]
"""A code, a tag, two operators, and a message."""


class _PlacementCheck:
    def __init__(self, logical: LogicalGraph, physical: PhysicalGraph, placements: Placements) -> None:
        self._logical = logical
        self._physical = physical
        self._placements = placements

    def model(self, index: int) -> LogicalOperator:
        """Return the logical operator of a replica."""
        return self._logical.operators[self._physical.operators[index].logical]

    def name(self, index: int) -> str:
        """Return the name of a replica."""
        return self._physical.operators[index].name

    def all(self) -> Iterator[_Contradiction]:
        """Yield every contradiction: of single operators, then within groups that share a PE, then on hosts."""
        wrong = {each.index for each in self._logical.operators if each.relocatable and not each.restartable}
        for operator in self._physical.operators if wrong else ():
            if operator.logical in wrong:
                message = f"{self.model(operator.index).name} is relocatable but not restartable"
                yield "CDISP0287E", "", operator.index, operator.index, message
        for members in self._placements.fused.larger_groups():
            yield from self._within_unit(members)
        for members in self._placements.host_colocated.larger_groups():
            yield from self._on_host(members)

    def _within_unit(self, members: list[int]) -> Iterator[_Contradiction]:
        placements = self._placements
        isolator = next((member for member in members if member in placements.host_isolated), -1)
        if any(placements.colocated.find(member) != placements.colocated.find(members[0]) for member in members):
            names = ", ".join(self.name(member) for member in members[:12])
            message = f"host isolation of {self.name(isolator)} and host colocation make one PE of {names}"
            yield "CDISP0525W", "", isolator, isolator, message
        tagged: dict[str, int] = {}
        host_tagged: dict[str, int] = {}
        restarting: dict[bool, int] = {}
        relocating: dict[bool, int] = {}
        for member in members:
            for tag in placements.exlocation.get(member, ()):
                first = tagged.setdefault(tag, member)
                if first != member:
                    message = f"exlocation {tag} of {self.name(first)} and {self.name(member)}"
                    yield self._contradiction(("CDISP0284E", "CDISP0291E"), tag, first, member, message)
            for tag in placements.host_exlocation.get(member, ()):
                first = host_tagged.setdefault(tag, member)
                if first != member and placements.colocated.find(first) == placements.colocated.find(member):
                    message = f"host exlocation {tag} of {self.name(first)} and {self.name(member)}"
                    yield self._contradiction(("CDISP0288E", "CDISP0288E"), tag, first, member, message)
            model = self.model(member)
            restarting.setdefault(model.restartable, member)
            if model.restartable:
                relocating.setdefault(model.relocatable, member)
            if self._engine(member) != self._engine(members[0]):
                message = f"{self.name(members[0])} and {self.name(member)} must share a PE"
                message += ", but only Sql and DataFrame operators of the same channels can be one query of Spark's"
                yield "SO1101", "", members[0], member, message
            if member in placements.isolated:
                other = members[0] if members[0] != member else members[1]
                message = f"isolation of {self.name(member)}, which is not alone:"
                message += f" {self.name(other)} must share its PE"
                yield self._contradiction(("CDISP0289E", "CDISP0294E"), "", member, other, message)
        for word, first_of, ids in (
            ("restartable", restarting, ("CDISP0285E", "CDISP0292E")),
            ("relocatable", relocating, ("CDISP0286E", "CDISP0293E")),
        ):
            if len(first_of) == 2:
                message = f"{self.name(first_of[True])} is {word} and {self.name(first_of[False])} is not"
                yield self._contradiction(ids, "", first_of[True], first_of[False], message)

    def _engine(self, operator: int) -> Hashable:
        """Return the regions and channels that DataFrame operators of one PE must share; None for a tuple operator.

        DataFrame operators share a PE only if no splitter is between them.
        """
        model = self.model(operator)
        return (model.regions, self._physical.operators[operator].channels) if model.engine == "dataframe" else None

    def _contradiction(self, ids: tuple[str, str], tag: str, first: int, second: int, message: str) -> _Contradiction:
        """Return a contradiction; its code is `ids[0]` if partition colocation joins the operators, else `ids[1]`."""
        colocated = self._placements.colocated
        together = colocated.find(first) == colocated.find(second)
        why = "partition colocation" if together else "host isolation with host colocation"
        return ids[0] if together else ids[1], tag, first, second, f"{message} contradicts their {why}"

    def _on_host(self, members: list[int]) -> Iterator[_Contradiction]:
        placements = self._placements
        tagged: dict[str, int] = {}
        spec: HostSpec | None = None
        where = -1
        for member in members:
            for tag in placements.host_exlocation.get(member, ()):
                first = tagged.setdefault(tag, member)
                if placements.colocated.find(first) != placements.colocated.find(member):
                    message = f"host exlocation {tag} of {self.name(first)} and {self.name(member)}"
                    message += " contradicts their host colocation"
                    yield "CDISP0290E", tag, first, member, message
            if member in placements.host:
                if spec is None:
                    spec, where = placements.host[member], member
                elif spec != placements.host[member]:
                    message = f"{self.name(where)} and {self.name(member)} must share a host but name different ones"
                    yield "CDISP0295E", "", where, member, message
