"""Commands load the code that a spec names exactly where docs/security.md says so."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.locked import deploy

SPEC = """
specVersion: 1
application: loads
schemas: {Number: "n bigint"}
graph:
  - {name: Numbers, operator: Beacon, outputs: [{stream: Numbers, schema: Number}], parameters: {iterations: 3}}
  - name: Own
    operator: named_module:Own
    inputs: [Numbers]
    outputs: [{stream: Own, schema: Number}]
    annotations: {parallel: {width: 2}}
  - {name: Out, operator: FileSink, inputs: [Own], parameters: {file: out}}
"""
MODULE = """
from pathlib import Path
from streams_orchestration.operators import Operator

Path(__file__).with_name("imported").touch()

class Own(Operator):
    def process(self, port, batch):
        self.submit(0, batch)
"""
LOADING = {
    "check": ["check", "spec.yaml"],
    "compile": ["compile", "spec.yaml"],
    "graph": ["graph", "spec.yaml"],
    "explain": ["explain", "spec.yaml", "Own"],
    "diff": ["diff", "spec.yaml", "--to", "Own=3"],
    "lineage SPEC": ["lineage", "spec.yaml", "Own"],
}
READING = {
    "status": ["status", "loads"],
    "metrics": ["metrics"],
    "lineage APP": ["lineage", "loads", "Own"],
    "cancel": ["cancel", "loads"],
}
FORKING = """
import importlib, json, os, sys
from pathlib import Path
from streams_orchestration.cli import main

own = "compiler.compiling", "compiler.checking.deployable", "operators", "runtime.catalog.catalog"
for module in ("pyarrow", "rich.console", *(f"streams_orchestration.{each}" for each in own)):
    importlib.import_module(module)

imported, found = Path("imported"), {}
for name, arguments in json.loads(sys.argv[1]).items():
    imported.unlink(missing_ok=True)
    if not (child := os.fork()):
        sys.stdout = sys.stderr
        try:
            main(arguments)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    found[name] = imported.exists()
print(json.dumps(found))
"""
"""A process that forks for each command, so that what all commands load is loaded once."""
PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "named_module.py").write_text(MODULE)
    return tmp_path


def row_of(name: str) -> str:
    """Return what the page says that a command loads."""
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", PAGE.partition("### Where code is loaded")[2], re.MULTILINE)
    return next(loads for commands, loads in rows if f"`{name}`" in commands)


def imports(directory: Path, commands: dict[str, list[str]]) -> dict[str, bool]:
    """Return for each command whether it imports the module that the spec names."""
    environment = os.environ | {"STREAMS_HOME": str(directory / "home")}
    command = [sys.executable, "-c", FORKING, json.dumps(commands)]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_commands_that_take_a_spec_import_what_it_names_and_others_do_not(directory: Path):
    deploy(Home(directory / "home"), deployable(compile_spec(directory / "spec.yaml")), asks_spark=False)
    assert imports(directory, LOADING | READING) == dict.fromkeys(LOADING, True) | dict.fromkeys(READING, False)
    assert {name: "modules that the spec names" in row_of(name) for name in LOADING} == dict.fromkeys(LOADING, True)
    assert {name: "nothing of a spec" in row_of(name) for name in READING} == dict.fromkeys(READING, True)
