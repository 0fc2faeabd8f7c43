"""Removal of loops of PEs whose operators form no loop: such PEs would wait for one another's end (rule 56).

PEs in a loop are divided into pieces, each of which feeds only later ones. Then pieces are merged again as long as no
loop results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.placement.fusable_units import Sharing

_TRIES = 256
"""The most partners that are tried for one part when parts are merged."""
_STEPS = 200_000
"""The most pieces that all path searches together may visit."""


def looped_pes(count: int, flows: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the sets of several PEs that feed one another in a loop; a PE may feed itself.

    Args:
        count: the number of PEs.
        flows: (producer, consumer) by number of the PE.
    """
    successors: list[list[int]] = [[] for _ in range(count)]
    for source, target in set(flows):
        if source != target:
            successors[source].append(target)
    return [sorted(each) for each in strong_components(successors) if len(each) > 1]


def without_loops(
    looped: Sequence[Sequence[int]],
    joined: DisjointSets,
    successors: Sequence[Sequence[int]],
    sharing: Sharing | None,
) -> list[list[int]]:
    """Divide the PEs of one loop, and return the operators of each part.

    The only loops of parts that are left are loops of the operators themselves.

    Args:
        looped: the operators of the PEs, PE by PE.
        joined: operators that are never parted.
        successors: for each operator, the operators that it feeds.
        sharing: the rules by which pieces of different PEs may be merged; None to merge only pieces of one PE.
    """
    pe_of = {operator: pe for pe, operators in enumerate(looped) for operator in operators}
    sets: dict[int, list[int]] = {}
    for operator in sorted(pe_of):
        sets.setdefault(joined.find(operator), []).append(operator)
    units = list(sets.values())
    unit_of = [-1] * len(successors)
    for number, members in enumerate(units):
        for operator in members:
            unit_of[operator] = number
    following = [
        sorted({unit_of[other] for each in members for other in successors[each]} - {number, -1})
        for number, members in enumerate(units)
    ]
    home = [pe_of[members[0]] for members in units]
    order = strong_components(following)
    parts: dict[tuple[int, int], list[int]] = {}
    for rank in _ranks(order, home):
        candidate = _parts(order, following, home, rank)
        parts = candidate if not parts or len(candidate) < len(parts) else parts
        if len(parts) <= len(looped) + 1:
            break
    pieces = _Pieces(list(parts.values()), following)
    pieces.merge([home[part[0]] for part in pieces.parts], lambda _one, _other: True, 1)
    if sharing is not None and pieces.left > len(looped):

        def operators(part: int) -> list[int]:
            return [each for unit in pieces.parts[part] for each in units[unit]]

        kinds = [sharing.kind(operators(part)) if pieces.parts[part] else None for part in range(len(pieces.parts))]
        pieces.merge(kinds, lambda one, other: sharing.agree(operators(one), operators(other)), len(looped))
    return [sorted(each for unit in part for each in units[unit]) for part in pieces.parts if part]


def _ranks(order: Sequence[Sequence[int]], home: Sequence[int]) -> list[list[int]]:
    """Return three orders of the PEs; each is a list with the rank of every PE.

    They sort by the position in the flow of a PE's first unit, of its last unit, and of all its units on average.
    """
    places: dict[int, list[int]] = {}
    for place, component in enumerate(order):
        for unit in component:
            places.setdefault(home[unit], []).append(place)
    keys: list[Callable[[list[int]], float]] = [min, max, lambda each: sum(each) / len(each)]
    ranks: list[list[int]] = []
    for key in keys:
        rank = [0] * len(places)
        for number, pe in enumerate(sorted(places, key=lambda pe: (key(places[pe]), pe))):
            rank[pe] = number
        ranks.append(rank)
    return ranks


def _parts(
    order: Sequence[Sequence[int]], following: Sequence[Sequence[int]], home: Sequence[int], rank: Sequence[int]
) -> dict[tuple[int, int], list[int]]:
    """Divide the units of looped PEs into parts, by round and PE.

    In every round each PE takes one turn, in the order of `rank`. A unit is in the earliest turn of its PE that is not
    before the turns of its producers, so no part feeds an earlier one.
    """
    round_of = [0] * len(home)
    turn_of = [rank[pe] for pe in home]
    parts: dict[tuple[int, int], list[int]] = {}
    for component in order:
        now = max([round_of[unit] for unit in component])
        for unit in component:
            turn = turn_of[unit]
            for other in following[unit]:
                earliest = now + (turn > turn_of[other])
                if round_of[other] < earliest:  # noqa: PLR1730  for millions of flows, a call of max takes long
                    round_of[other] = earliest
        for unit in component:
            parts.setdefault((now, turn_of[unit]), []).append(unit)
    return {key: parts[key] for key in sorted(parts)}


class _Pieces:
    """Parts of PEs, and the streams between the parts; merging empties one of two parts."""

    def __init__(self, parts: list[list[int]], following: Sequence[Sequence[int]]) -> None:
        self.parts = parts
        part_of = {unit: number for number, part in enumerate(parts) for unit in part}
        self._following = [
            {part_of[other] for unit in part for other in following[unit]} - {number}
            for number, part in enumerate(parts)
        ]
        self._steps = _STEPS

    @property
    def left(self) -> int:
        """The number of parts that are not empty."""
        return sum(map(bool, self.parts))

    def merge(self, kinds: Sequence[Hashable], may_share: Callable[[int, int], bool], wanted: int) -> None:
        """Merge pairs of parts, small ones first, until `wanted` parts are left or further merges would form a loop.

        For each part, at most `_TRIES` partners are tried. More parts are left if the searches for loops of all calls
        have taken `_STEPS` steps.

        Args:
            kinds: a value for every part; only parts with equal values are merged, and parts with None never.
            may_share: returns True if two parts of equal kind may be merged.
            wanted: the number of parts at which to stop.
        """
        by_kind: dict[Hashable, list[int]] = {}
        for part in sorted(range(len(self.parts)), key=lambda each: (len(self.parts[each]), each)):
            if self.parts[part] and kinds[part] is not None:
                by_kind.setdefault(kinds[part], []).append(part)
        left = self.left
        for alike in by_kind.values():
            for first, one in enumerate(alike):
                for other in alike[first + 1 : first + 1 + _TRIES] if left > wanted else ():
                    if may_share(one, other) and not self._loops(one, other):
                        self._join(other, one)
                        left -= 1
                        break

    def _join(self, into: int, part: int) -> None:
        self.parts[into] += self.parts[part]
        self.parts[part] = []
        self._following[into] |= self._following[part]
        self._following[part] = set()
        for each in self._following:
            if part in each:
                each.remove(part)
                each.add(into)
        self._following[into].discard(into)

    def _loops(self, one: int, other: int) -> bool:
        """Return True if merging two parts would form a loop, perhaps with a third part.

        The result is also True if the search takes too long.
        """
        mutual = other in self._following[one] and one in self._following[other]
        return mutual or self._leads(one, other) or self._leads(other, one)

    def _leads(self, one: int, other: int) -> bool:
        """Return True if a path leads from `one` to `other` through a third part, or if the search takes too long."""
        waiting = [each for each in self._following[one] if each != other]
        seen = {one, *waiting}
        while waiting:
            self._steps -= 1
            if self._steps <= 0:
                return True
            for each in self._following[waiting.pop()]:
                if each == other:
                    return True
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return False
