"""docs/standard-operators.md: as the models are, with examples that compile, and run if they need no other system."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration_tests.generated.operators_page import EXAMPLES

ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = yaml.safe_load((ROOT / EXAMPLES).read_text(encoding="utf-8"))


def test_every_parameter_is_described():
    fields = ((kind, import_operator(name).Parameters.model_fields) for kind, name in STANDARD.items())
    assert [(kind, name) for kind, each in fields for name, info in each.items() if not info.description] == []


def document_of(example: dict[str, Any]) -> dict[str, Any]:
    sources = [
        {"name": stream, "operator": "Beacon", "outputs": [{"stream": stream, "schema": schema}]}
        for stream, schema in example["streams"].items()
    ]
    graph = [*sources, *yaml.safe_load(example["graph"])]
    return {"specVersion": 1, "application": "example", "graph": graph}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The working directory of examples, with their files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for file, content in [each for example in TABLE.values() for each in example.get("files", {}).items()]:
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_text(content)


def test_every_operator_has_an_example():
    assert TABLE.keys() == STANDARD.keys()
    assert [name for name, example in TABLE.items() if not re.search(rf"\boperator: {name}\b", example["graph"])] == []


@pytest.mark.parametrize("name", sorted(name for name, example in TABLE.items() if "submits" not in example))
def test_the_example_of_an_operator_compiles(name: str):
    findings = check_operators(compile_application(application_from_mapping(document_of(TABLE[name]))).progress)
    assert [str(each) for each in findings if each.severity == "error"] == []


@pytest.mark.parametrize("name", sorted(name for name, example in TABLE.items() if "submits" in example))
def test_the_example_of_an_operator_submits(name: str):
    expected = TABLE[name]["submits"]
    actual = run_in_process(document_of(TABLE[name]), TABLE[name].get("reads", {}), list(expected), batch=2)
    for stream, rows in expected.items():
        schema = actual[stream].schema
        wanted = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        assert actual[stream].to_pylist() == wanted.to_pylist()
