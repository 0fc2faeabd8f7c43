"""Patterns of SPL that are not regular expressions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library.patterns import perl, posix


@pytest.mark.parametrize("compiled", [perl, posix])
@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(" * 5000 + ")" * 5000], ids=["open", "many", "deep"])
def test_a_faulty_pattern_is_an_error_of_the_tuple(compiled: Callable[[str], object], pattern: str):
    with pytest.raises(RunError, match="is not a regular expression"):
        compiled(pattern)
