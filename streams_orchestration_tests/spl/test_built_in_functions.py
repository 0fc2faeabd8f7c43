"""Built-in functions over Python's values give what Streams documents."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.library import builtin
from streams_orchestration.spl.programs.values import plain_function, unplain_function
from streams_orchestration.spl.types.types import RSTRING, Type
from streams_orchestration.spl.types.written import type_of_text
from streams_orchestration_tests.examples import examples

FILE = Path(__file__).parents[1] / "cases/spl_functions.yaml"
CASES = [case for cases in yaml.safe_load(FILE.read_text(encoding="utf-8")).values() for case in cases]


class Surroundings:
    """The run that functions with an effect are given."""

    zone = "UTC"


def called(name: str, types: tuple[Type, ...], values: list[Any]) -> Any:
    """Return the result of a function, or its first argument if the function changes it."""
    found = builtin(name, types)
    assert found is not None
    function = found.make(types, types[0])
    result = function(*([Surroundings()] if found.run else []), *values)
    if found.assigns:
        return result[1 + found.assigns.index(0)]
    return values[0] if name.endswith("M") else result


def plainly(value: Any) -> Any:
    """Return a result with lists for sets and tuples, and a text for NaN."""
    if isinstance(value, dict) and all(each is None for each in value.values()):
        return [plainly(each) for each in value]
    if isinstance(value, list | tuple):
        return [plainly(each) for each in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize(("name", "written", "values", "result"), CASES, ids=lambda value: str(value)[:30])
def test_a_function_gives_what_is_documented(name: str, written: list[str], values: list[Any], result: Any):
    types = tuple(map(type_of_text, written))
    given_ = [unplain_function(type_)(value) for type_, value in zip(types, values, strict=True)]
    if result == "error":
        with pytest.raises(RunError):
            called(name, types, given_)
        return
    before = [plain_function(type_)(value) for type_, value in zip(types, given_, strict=True)]
    found = called(name, types, given_)
    changes = name.endswith("M") or name == "assignFrom"
    assert plainly(plain_function(types[0])(found) if changes else found) == plainly(result)
    kept = [plain_function(type_)(value) for type_, value in zip(types, given_, strict=True)]
    assert kept[changes:] == before[changes:], "a function changes none of its other arguments"


def naive_substring(text: str, start: int, count: int) -> str:
    data = text.encode()
    return bytes(data[at] for at in range(start, start + count) if 0 <= at < len(data)).decode()


@examples(100)
@given(st.text("aé", max_size=6), st.integers(-4, 6), st.integers(-2, 9))
def test_a_substring_is_made_of_the_bytes_at_its_indexes(text: str, start: int, count: int):
    function = builtin("substring", (RSTRING,))
    assert function is not None
    try:
        wanted = naive_substring(text, start, count)
    except UnicodeDecodeError:
        wanted = None
    if (start > len(text.encode()) and count > 0) or wanted is None:
        with pytest.raises(RunError):
            function.make((RSTRING,), RSTRING)(text, start, count)
    else:
        assert function.make((RSTRING,), RSTRING)(text, start, count) == wanted
