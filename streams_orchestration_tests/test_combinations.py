"""A covering selection of combinations is run by `make test`, and all of them by `make deep`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration_tests.combinations import leave_combinations, often


class Case:
    """A case of a test, as pytest collects it."""

    path, originalname, name = Path("test.py"), "test", "test[...]"

    def __init__(self, *marks: str, together: tuple[Any, ...] = (), **params: Any) -> None:
        self.marks, self.together = {*marks}, together
        self.callspec = SimpleNamespace(params=params)

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None

    def iter_markers(self, name: str) -> Iterator[Any]:
        assert name == "parametrize"
        yield from (SimpleNamespace(args=[names]) for names in self.together)

    def add_marker(self, mark: Any) -> None:
        self.marks.add(mark.name)


def left(cases: list[Case]) -> list[tuple[Any, ...]]:
    """Return the values of the cases that are not deep."""
    leave_combinations(cases)  # type: ignore[arg-type]
    return [tuple(case.callspec.params.values()) for case in cases if "deep" not in case.marks]


@pytest.mark.parametrize(
    ("axes", "wanted"),
    [
        (("ab", "xyz"), ["ax", "az", "by"]),
        (("ab", "xy"), ["ax", "by"]),
        (("abc",), ["a", "b", "c"]),
        (("a", "xy", "1234"), ["ax1", "ax3", "ay2", "ay4"]),
    ],
)
def test_every_value_of_every_parameter_is_left_once_at_least(axes: tuple[str, ...], wanted: list[str]):
    named: list[dict[str, Any]] = [
        {f"axis{place}": value for place, value in enumerate(each)} for each in itertools.product(*axes)
    ]
    cases = [Case("covering", **params) for params in named]
    assert ["".join(values) for values in left(cases)] == wanted


@pytest.mark.parametrize("together", ["a, b", ("a", "b")])
def test_parameters_whose_values_are_given_together_are_one(together: Any):
    pairs, file = ((1, 2), (3, 4)), {"name": "one that cannot be hashed"}
    cases = [Case("covering", together=(together,), a=a, b=b, c=c, d=file) for a, b in pairs for c in "xy"]
    assert left(cases) == [(1, 2, "x", file), (3, 4, "y", file)]


def test_cases_that_are_deep_already_cover_nothing():
    cases = [Case("covering", "deep", a=0, b=0), Case("covering", a=0, b=1), Case("covering", a=1, b=1)]
    assert left(cases) == [(0, 1), (1, 1)]


def test_all_combinations_of_other_tests_are_left():
    assert left([Case(a=0, b=0), Case(a=0, b=1)]) == [(0, 0), (0, 1)]


def test_values_that_are_not_chosen_are_deep():
    assert [[mark.name for mark in each.marks] for each in often("abc", "b")] == [["deep"], [], ["deep"]]
