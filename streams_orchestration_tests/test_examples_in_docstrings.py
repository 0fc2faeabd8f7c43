"""The examples in the docstrings of the product are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import streams_orchestration

ROOT = Path(streams_orchestration.__file__).parent.parent
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(Path(streams_orchestration.__file__).parent.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
