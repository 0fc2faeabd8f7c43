"""Standard operators in whole applications, wherever their micro-batches end."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.builder.testing import run_in_process

CASES: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "standard_operators.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("batch", [2, 1000])
@pytest.mark.parametrize("name", CASES["applications"])
def test_an_application_gives(name: str, batch: int):
    case = CASES["applications"][name]
    sources = [
        {"name": stream, "operator": "Beacon", "outputs": [{"stream": stream, "schema": schema}]}
        for stream, schema in case["schemas"].items()
    ]
    document = {"specVersion": 1, "application": "case", "schemas": CASES["schemas"]}
    document["graph"] = [*sources, *deepcopy(case["graph"])]
    expected = case["expected"]
    actual = run_in_process(document, case["inputs"], list(expected), batch=batch)
    assert {stream: [list(row.values()) for row in actual[stream].to_pylist()] for stream in expected} == expected
