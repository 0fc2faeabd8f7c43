"""A docstring names the errors that reach its caller from the functions that it calls."""

from __future__ import annotations

from collections import Counter

import pytest

from streams_orchestration_tests.callee_errors import errors_in, left_out
from streams_orchestration_tests.sources import READS_SOURCES

pytestmark = READS_SOURCES

LEAVE_OUT = {
    "operators": 48,
    "compiler": 28,
    "runtime": 25,
    "spl": 17,
    "orchestration": 6,
    "expressions": 4,
    "builder": 4,
    "cli": 3,
    "console": 1,
}
"""Map packages to the number of functions that may leave out an error of a callee. It may only fall; others have none.

They were read one by one, and most of them are right: a check before the call excludes the error, the function that the
callee returns raises it, or the method keeps the contract of its base class.
"""


def test_no_more_docstrings_than_before_leave_out_an_error_of_a_callee():
    found: dict[str, set[str]] = {}
    for place, callee, error in left_out():
        found.setdefault(place.split(".")[1].partition(":")[0], set()).add(f"{place}: {error} of {callee}")
    functions = {name: Counter(each.partition(": ")[0] for each in places) for name, places in found.items()}
    beyond = {name: sorted(found[name]) for name, places in functions.items() if len(places) > LEAVE_OUT.get(name, 0)}
    assert not beyond, "name the errors, or say `see` and the callee"


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (
            "Write it.\n\nRaises:\n    DataError, StateError: it cannot.\n    KeyError: none.",
            "DataError StateError KeyError",
        ),
        ("Raise DataError if it cannot.", "DataError"),
        ("Return a DataError.", ""),
    ],
)
def test_a_docstring_names_errors_in_its_section_or_in_a_sentence(text: str, errors: str):
    assert errors_in(text) == frozenset(errors.split())
