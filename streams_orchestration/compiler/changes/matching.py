"""Groups of operators in two plans: which one of the new plan goes on from which one of the old."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping


def best_matches(before: Mapping[int, Iterable[Hashable]], after: Mapping[int, Iterable[Hashable]]) -> dict[int, int]:
    """New group -> the old one that it shares most members with: most first, then the smallest numbers.

    A member is in one group of a plan only; each group goes on from one at most, and is gone on from by one at most.
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
