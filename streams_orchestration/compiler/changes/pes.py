"""The change of the PEs between two plans of one application: unchanged, restarted, started or stopped (rule 41)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from streams_orchestration.compiler.changes.matching import best_matches
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.model.brief import plural


class PeRestart(NamedTuple):
    """A PE of both plans that restarts, with the reasons."""

    pe: int
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PeChange:
    """The PEs that a new plan leaves running, restarts, starts and stops, by their run-time numbers."""

    ids: tuple[int, ...]
    """PE of the new plan -> its run-time number: the number of the old PE that it continues, or a fresh one."""
    next: int
    """The smallest number that no PE ever had."""
    kept: tuple[int, ...]
    restart: tuple[PeRestart, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PeNumbers:
    """The run-time numbers of the PEs of a plan."""

    ids: tuple[int, ...]
    next: int


def match_pes(
    old: Compilation,
    new: Compilation,
    before: Sequence[Hashable],
    after: Sequence[Hashable],
    changed: Set[Hashable],
    numbers: PeNumbers,
) -> PeChange:
    """Match every new PE with the old PE that has the most operators in common, and return the change of each PE.

    A PE is unchanged only if it has the same operators on the same host, none of them changed, and exchanges tuples
    with the same operators in the same PEs as before.

    Args:
        old: the plan that runs.
        new: the plan that is to run.
        before: identities of the old physical operators, which do not depend on widths.
        after: identities of the new ones.
        changed: operators of both plans that differ.
        numbers: run-time numbers of the old PEs.
    """
    goes_on = best_matches(
        {pe.id: [before[operator] for operator in pe.operators] for pe in old.fusion.pes},
        {pe.id: [after[operator] for operator in pe.operators] for pe in new.fusion.pes},
    )
    ids: list[int] = []
    next_id = numbers.next
    for pe in new.fusion.pes:
        if pe.id in goes_on:
            ids.append(numbers.ids[goes_on[pe.id]])
        else:
            ids.append(next_id)
            next_id += 1
    peers_before = _peers(old, before, numbers.ids)
    peers_after = _peers(new, after, ids)
    kept: list[int] = []
    restart: list[PeRestart] = []
    for number, former in sorted(goes_on.items()):
        pe, previous = new.fusion.pes[number], old.fusion.pes[former]
        members, was = {after[each] for each in pe.operators}, {before[each] for each in previous.operators}
        why = tuple(_reasons(members, was, changed))
        if pe.host != previous.host:
            why += (f"it moves from host {previous.host} to host {pe.host}",)
        if not why and peers_before[former] != peers_after[number]:
            why = ("operators that it exchanges tuples with are in another PE",)
        if why:
            restart.append(PeRestart(ids[number], why))
        else:
            kept.append(ids[number])
    stopped = set(range(len(old.fusion.pes))) - set(goes_on.values())
    return PeChange(
        ids=tuple(ids),
        next=next_id,
        kept=tuple(sorted(kept)),
        restart=tuple(sorted(restart)),
        start=tuple(id_ for pe, id_ in enumerate(ids) if pe not in goes_on),
        stop=tuple(sorted(numbers.ids[pe] for pe in stopped)),
    )


def _reasons(members: Set[Hashable], was: Set[Hashable], changed: Set[Hashable]) -> Iterator[str]:
    """Yield the reasons for a restart of a PE that are in its operators, by their identities now and before."""
    if different := len(members & changed):
        yield f"{different} of its operators {'changes' if different == 1 else 'change'}"
    if added := len(members - was):
        yield f"{plural(added, 'operator')} added to it"
    if removed := len(was - members):
        yield f"{plural(removed, 'operator')} removed from it"


def _peers(compilation: Compilation, operators: Sequence[Hashable], ids: Sequence[int]) -> list[set[Hashable]]:
    """Return the ends of every PE's streams in other PEs: (operator's identity, port, run-time number of its PE)."""
    pe_of = compilation.fusion.pe_of
    peers: list[set[Hashable]] = [set() for _ in compilation.fusion.pes]
    for each in compilation.physical.connections:
        source, target = pe_of[each.source], pe_of[each.target]
        if source != target:
            peers[source].add((operators[each.target], each.target_port, ids[target]))
            peers[target].add((operators[each.source], each.source_port, ids[source]))
    return peers
