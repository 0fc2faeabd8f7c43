"""The function that tests wait with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams_orchestration_tests.waiting import until

SAID = "two of three are there"


def test_an_awaited_value_is_returned():
    polls = iter(["", None, "here", "not asked for"])
    assert until(lambda: next(polls), "it does not come", pause=0.0) == "here"
    assert next(polls) == "not asked for"


@pytest.mark.parametrize("otherwise", [SAID, lambda: SAID], ids=["a text", "a function"])
def test_an_awaited_value_that_does_not_come_is_named(otherwise: str | Callable[[], str]):
    with pytest.raises(AssertionError, match=f"after 0 s: {SAID}"):
        until(lambda: False, otherwise, seconds=0.0)
