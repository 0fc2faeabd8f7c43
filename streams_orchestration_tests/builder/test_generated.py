"""The pages and modules that are written from tables and docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo

from streams_orchestration.builder.annotations import plain_keys
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration_tests.generated.files import GENERATED
from streams_orchestration_tests.generated.operators_source import snake

ROOT = Path(__file__).parents[2]


def parsed(name: str, text: str) -> str:
    """Return a module without its format, or a page unchanged."""
    return ast.dump(ast.parse(text)) if name.endswith(".py") else text


def test_the_arguments_of_an_operator_become_its_parameters():
    names = {info.alias or name for kind in STANDARD.values() for name, info in parameters_of(kind).items()}
    assert {name for name in names if plain_keys({snake(name): None}) != {name: None}} == set()


def parameters_of(kind: str) -> dict[str, FieldInfo]:
    return import_operator(kind).Parameters.model_fields


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_current(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    written = Path(name).read_text(encoding="utf-8")
    assert parsed(name, written) == parsed(name, GENERATED[name](written)), "run `make docs`"
