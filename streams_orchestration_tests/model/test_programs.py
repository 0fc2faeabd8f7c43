"""Places of SPL code do not count in comparisons, and attributes that have the names of their keys do."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.model.programs import without_places


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"spl": "n > 1", "at": "ns/Main.spl:14:22"}, {"spl": "n > 1"}),
        ({"spl": "n > 1", "at": ""}, {"spl": "n > 1"}),
        ({"spl": "n > 1", "at": "Main.spl:2:1", "lines": [3]}, {"spl": "n > 1"}),
        ({"spl": "n", "at": "m + 1", "lines": "k"}, {"spl": "n", "at": "m + 1", "lines": "k"}),
        ({"spl": "n", "at": "'Main.spl:1:2'"}, {"spl": "n", "at": "'Main.spl:1:2'"}),
        (
            {"spl": {"spl": "n", "at": "Main.spl:1:2"}, "at": {"spl": "m", "at": "Main.spl:2:2"}},
            {"spl": {"spl": "n"}, "at": {"spl": "m"}},
        ),
    ],
)
def test_a_place_is_left_out_and_an_attribute_of_its_name_is_kept(value: dict[str, Any], expected: dict[str, Any]):
    assert without_places({"output": value}) == {"output": expected}
