"""The matching of operator groups, such as PEs, between an old and a new plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping


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
