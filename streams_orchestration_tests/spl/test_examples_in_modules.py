"""The examples in the docstrings of the language are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from streams_orchestration import spl

MODULES = [each.name for each in pkgutil.walk_packages(spl.__path__, f"{spl.__name__}.") if not each.ispkg]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
