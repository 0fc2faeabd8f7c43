"""The change of the PEs between two plans of one application: unchanged, restarted, started or stopped (rule 41)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.model.brief import plural


class PeRestart(NamedTuple):
    """A PE of both plans that restarts, with the reasons."""

    pe: int
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeChange:
    """The PEs that a new plan leaves running, restarts, starts and stops, by their numbers."""

    kept: tuple[int, ...]
    restart: tuple[PeRestart, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]


def compare_pes(
    old: Compilation, new: Compilation, before: Sequence[Hashable], after: Sequence[Hashable], changed: Set[Hashable]
) -> PeChange:
    """Return the change of each PE between two plans, in which a PE that continues has the same number.

    A PE is unchanged only if it has the same operators on the same host, none of them changed, and exchanges tuples
    with the same operators in the same PEs as before.

    Args:
        old: the plan that runs.
        new: the plan that is to run.
        before: identities of the old physical operators, which do not depend on widths.
        after: identities of the new ones.
        changed: operators of both plans that differ.
    """
    former = {pe.id: pe for pe in old.fusion.pes}
    peers_before, peers_after = _peers(old, before), _peers(new, after)
    kept: list[int] = []
    restart: list[PeRestart] = []
    start: list[int] = []
    for pe in new.fusion.pes:
        previous = former.pop(pe.id, None)
        if previous is None:
            start.append(pe.id)
            continue
        members, was = {after[each] for each in pe.operators}, {before[each] for each in previous.operators}
        why = tuple(_reasons(members, was, changed))
        if pe.host != previous.host:
            why += (f"it moves from host {previous.host} to host {pe.host}",)
        if not why and peers_before[pe.id] != peers_after[pe.id]:
            why = ("operators that it exchanges tuples with are in another PE",)
        if why:
            restart.append(PeRestart(pe.id, why))
        else:
            kept.append(pe.id)
    return PeChange(tuple(kept), tuple(restart), tuple(start), tuple(former))


def _reasons(members: Set[Hashable], was: Set[Hashable], changed: Set[Hashable]) -> Iterator[str]:
    """Yield the reasons for a restart of a PE that are in its operators, by their identities now and before."""
    if different := len(members & changed):
        yield f"{different} of its operators {'changes' if different == 1 else 'change'}"
    if added := len(members - was):
        yield f"{plural(added, 'operator')} added to it"
    if removed := len(was - members):
        yield f"{plural(removed, 'operator')} removed from it"


def _peers(compilation: Compilation, operators: Sequence[Hashable]) -> dict[int, set[Hashable]]:
    """Return the ends of every PE's streams in other PEs: (operator's identity, port, number of its PE)."""
    pe_of = compilation.fusion.pe_of
    peers: dict[int, set[Hashable]] = defaultdict(set)
    for each in compilation.physical.connections:
        source, target = pe_of[each.source], pe_of[each.target]
        if source != target:
            peers[source].add((operators[each.target], each.target_port, target))
            peers[target].add((operators[each.source], each.source_port, source))
    return peers
