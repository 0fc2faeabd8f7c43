"""Statements that are compiled once for all databases of a process's tests."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

STATEMENTS = 5_000
"""Compiled statements that are kept; by default it is 500, which the tests of the runtime exceed."""
_firsts: dict[tuple[str, str], Engine] = {}
"""The engine whose statements serve the others, by the module that creates the engines and by the database."""


def compile_once(*modules: ModuleType) -> pytest.MonkeyPatch:
    """Let the engines that a module creates share the statements that SQLAlchemy has compiled, until it is undone.

    Each new engine would compile all of its statements again otherwise, and each test has a catalog of its own. A
    library of which each connection has an engine compiles each statement at each use.
    """
    patch = pytest.MonkeyPatch()
    for module in modules:
        patch.setattr(module, "create_engine", _sharing(module.__name__))
    return patch


def _sharing(creator: str) -> Any:
    def create(*arguments: Any, **options: Any) -> Engine:
        engine = create_engine(*arguments, **{"query_cache_size": STATEMENTS} | options)
        first = _firsts.get((creator, engine.dialect.name))
        if first is None or first.dialect.server_version_info is None:  # it has not been connected yet
            _firsts[creator, engine.dialect.name] = engine
        else:
            engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
        return engine

    return create
