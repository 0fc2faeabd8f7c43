"""The interface of the runtime: two tables of the same names, of which nothing is loaded before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from streams_orchestration.runtime import api


def test_the_interface_of_the_runtime_loads_nothing_before_it_is_used():
    show = "print(*{name for name in sys.modules if name.startswith('streams_orchestration.')})"
    script = f"import sys; from streams_orchestration.runtime import api; {show}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"streams_orchestration.runtime", api.__name__}


def test_the_interface_of_the_runtime_has_the_names_that_it_shows_to_type_checkers():
    (shown,) = (
        node.body for node in ast.parse(Path(api.__file__).read_text(encoding="utf-8")).body if isinstance(node, ast.If)
    )
    typed = {(node.module, alias.name) for node in shown if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert dir(api) == sorted(name for _, name in typed)
    assert all(getattr(api, name) is getattr(import_module(str(module)), name) for module, name in typed)
