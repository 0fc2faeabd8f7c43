"""A selection of a test's cases for `make test`; `make deep` runs the others as well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

import pytest

Axis = tuple[str, ...]
"""The names of parameters whose values are given together."""


def leave_combinations(items: Iterable[pytest.Item]) -> None:
    """Make those cases of tests with the mark `covering` deep that a merge can do without.

    The others have every value of every parameter once at least: the first values together, then the second ones, and
    so on. A parameter with fewer values begins again.
    """
    tests = defaultdict[tuple[Any, str], list[Any]](list)
    for item in items:
        if item.get_closest_marker("covering") and not item.get_closest_marker("deep"):
            tests[item.path, getattr(item, "originalname", item.name)].append(item)
    for cases in tests.values():
        chosen = [_values(case) for case in cases]
        # by identity, since values need not be hashable and all cases have the same objects
        axes = {axis: list(dict.fromkeys(each[axis] for each in chosen)) for axis in chosen[0]}
        kept = [
            {axis: values[row % len(values)] for axis, values in axes.items()}
            for row in range(max(map(len, axes.values())))
        ]
        for case, values in zip(cases, chosen, strict=True):
            if values not in kept:
                case.add_marker(pytest.mark.deep)


def _values(case: Any) -> dict[Axis, tuple[int, ...]]:
    """Return the identities of a case's values; parameters of fixtures have axes of their own."""
    params: dict[str, Any] = case.callspec.params
    marks = [mark.args[0] for mark in case.iter_markers("parametrize")]
    together = [tuple(name.strip() for name in each.split(",")) if isinstance(each, str) else each for each in marks]
    alone = [(name,) for name in params if not any(name in axis for axis in together)]
    return {tuple(axis): tuple(id(params[name]) for name in axis) for axis in (*together, *alone)}


def often(values: Iterable[Any], chosen: Collection[Any]) -> list[Any]:
    """Return the values of a parameter, where those are deep that are not among the chosen ones."""
    return [pytest.param(each, marks=() if each in chosen else pytest.mark.deep) for each in values]
