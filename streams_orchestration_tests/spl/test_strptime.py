"""Times in texts are parsed as C's `strptime` parses them."""

from __future__ import annotations

import pytest

from streams_orchestration.spl.programs.library.strptime import parse_tm


def test_seconds_since_1970_are_a_time():
    found = parse_tm("253402300799 rest", "%s")
    assert found is not None
    tm, length = found
    assert (tm["year"], tm["mon"], tm["mday"], tm["hour"], tm["sec"], length) == (8099, 11, 31, 23, 59, 12)


@pytest.mark.parametrize("text", ["253402300800", "1700000000000", "9" * 30, "9" * 5000], ids=len)
def test_seconds_after_the_year_9999_do_not_fit(text: str):
    assert parse_tm(text, "%s") is None
