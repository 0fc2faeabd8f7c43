"""Standard operators in whole applications, wherever their micro-batches end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.builder.testing import run_in_process

CASES: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "standard_operators.yaml").read_text(encoding="utf-8")
)


@pytest.mark.covering
@pytest.mark.parametrize("batch", [2, 1000])
@pytest.mark.parametrize("name", CASES["applications"])
def test_an_application_gives(tmp_path: Path, name: str, batch: int):
    case = CASES["applications"][name]
    for file, content in case.get("files", {}).items():
        (tmp_path / file).write_text(content)
    sources = [
        {"name": stream, "operator": "Beacon", "outputs": [{"stream": stream, "schema": schema}]}
        for stream, schema in case.get("schemas", {}).items()
    ]
    document = {"specVersion": 1, "application": "case", "schemas": CASES["schemas"]}
    document["graph"] = [*sources, *json.loads(json.dumps(case["graph"]).replace("DIRECTORY", str(tmp_path)))]
    expected = case["expected"]
    actual = run_in_process(document, case.get("inputs", {}), list(expected), batch=batch)
    assert {stream: [list(row.values()) for row in actual[stream].to_pylist()] for stream in expected} == expected
