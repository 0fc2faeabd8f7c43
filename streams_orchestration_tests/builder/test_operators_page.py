"""docs/standard-operators.md: as the models are, with examples that compile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.builder.operators_page import EXAMPLES, PAGE, page
from streams_orchestration.compiler.checking.checking import check_operators, check_parameters
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD

ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = yaml.safe_load((ROOT / EXAMPLES).read_text(encoding="utf-8"))
ELSEWHERE = {"Custom", "DirectoryScan"}
"""They name modules and directories that are not here."""


def test_the_page_is_current(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    assert (ROOT / PAGE).read_text(encoding="utf-8") == page(), "run `make docs`"


def test_every_parameter_is_described():
    fields = ((kind, import_operator(name).Parameters.model_fields) for kind, name in STANDARD.items())
    assert [(kind, name) for kind, each in fields for name, info in each.items() if not info.description] == []


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_the_example_of_an_operator_compiles(name: str):
    sources = [
        {"name": stream, "operator": "Beacon", "outputs": [{"stream": stream, "schema": schema}]}
        for stream, schema in TABLE[name]["streams"].items()
    ]
    graph = yaml.safe_load(TABLE[name]["graph"])
    assert [node["operator"] for node in graph] == [name]
    compilation = compile_application(
        application_from_mapping({"specVersion": 1, "application": "example", "graph": [*sources, *graph]})
    )
    findings = check_parameters(compilation) if name in ELSEWHERE else check_operators(compilation)
    assert [str(each) for each in findings if each.severity == "error"] == []
