"""The comparison of tuples that a reader has seen with those of an undisturbed run.

>>> wanted = [("a", 1), ("b", 1), ("a", 2)]
>>> difference([("a", 1), ("b", 1)], wanted, in_order=True, by_key=False)
>>> difference([("a", 1), ("a", 1)], wanted, in_order=True, by_key=False)
"1 tuples are doubled or wrong, as ('a', 1)"
>>> difference([("b", 1), ("a", 1)], wanted, in_order=True, by_key=False)
'its tuples are out of order'
>>> difference([("b", 1), ("a", 1)], wanted, in_order=True, by_key=True)
"""

from __future__ import annotations

from collections import Counter

from streams_orchestration_tests.chaos.shapes import Tuples


def difference(seen: Tuples, wanted: Tuples, *, in_order: bool, by_key: bool) -> str | None:
    """Return in words why tuples are not a part of others; None if they are.

    Args:
        seen: tuples that a reader has seen.
        wanted: tuples of an undisturbed run.
        in_order: the tuples must be the first ones.
        by_key: they must be the first ones of each key only, since they may have gone by several channels.
    """
    if extra := Counter(seen) - Counter(wanted):
        return f"{extra.total()} tuples are doubled or wrong, as {next(iter(extra))}"
    if in_order and not _is_beginning(seen, wanted, by_key=by_key):
        return "its tuples are out of order"
    return None


def _is_beginning(seen: Tuples, wanted: Tuples, *, by_key: bool) -> bool:
    if not by_key:
        return seen == wanted[: len(seen)]
    keys = {each[0] for each in seen}
    return all(
        (mine := [each for each in seen if each[0] == key]) == [each for each in wanted if each[0] == key][: len(mine)]
        for key in keys
    )
