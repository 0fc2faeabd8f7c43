"""The pages and modules that are written from tables and docstrings."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from streams_orchestration.builder.generated import GENERATED

ROOT = Path(__file__).parents[2]


def parsed(name: str, text: str) -> str:
    """Return a module without its format, or a page unchanged."""
    return ast.dump(ast.parse(text)) if name.endswith(".py") else text


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_file_is_current(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    written = Path(name).read_text(encoding="utf-8")
    assert parsed(name, written) == parsed(name, GENERATED[name](written)), "run `make docs`"
