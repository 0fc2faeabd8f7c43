"""The tutorial's files are what it says they are: its tests pass, its application runs."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pyarrow.csv
import pytest

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.operators.standard.transformation.custom import Custom
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication

ROOT = Path(__file__).parents[2]
READING = "sensor string, value double"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The blocks of the page that begin with the name of their file."""
    blocks: dict[str, str] = defaultdict(str)
    page = (ROOT / "docs" / "operators.md").read_text()
    for name, text in re.findall(r"```\w+\n# (\S+)\n(.*?)```", page, re.DOTALL):
        blocks[name] += text
    assert set(blocks) == {"readings.py", "test_readings.py", "readings.yaml"}
    for name, text in blocks.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "readings", raising=False)
    return tmp_path


@pytest.mark.slow
def test_its_tests_pass(files: Path):
    path = os.pathsep.join([str(ROOT), str(files)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_readings.py"]
    done = subprocess.run(
        command, cwd=files, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_its_application_runs(files: Path):
    compilation = compile_spec(files / "readings.yaml")
    assert check_operators(compilation.progress) == []
    local = LocalApplication(Home(files / "home"), compilation, 70)
    local.run()
    tables = [pyarrow.csv.read_csv(path) for path in local.published("changes")]
    actual = sorted(tuple(row.values()) for table in tables for row in table.to_pylist())
    assert actual == sorted((sensor, round(1.8 * i + 32, 9)) for i in range(10) for sensor in ("s0", "s1"))


def test_its_function_for_custom_works(files: Path):
    custom = OperatorHarness(Custom, [READING], [READING], parameters={"function": "readings:numbered"})
    assert custom.send([("a", 0.5)] * 2).restart().send([("b", 0.5)]).rows() == [("a", 0.0), ("a", 1.0), ("b", 2.0)]


def test_its_keyed_state_counts(files: Path):
    counts = importlib.import_module("readings").Counts
    harness = OperatorHarness(counts, [READING], [READING])
    harness.send([("a", 1.0), ("b", 2.0)]).restart().send([("b", 5.0), ("c", 6.0)])
    assert harness.rows() == [("a", 1.0), ("b", 1.0), ("b", 2.0), ("c", 1.0)]
    assert dict(getattr(harness.operator, "counts").items()) == {"a": (1, 1.0), "b": (2, 5.0), "c": (1, 6.0)}  # noqa: B009


def test_its_function_of_a_tuple_works(files: Path):
    custom = OperatorHarness(Custom, [READING], [READING], parameters={"onTuple": "readings:celsius"})
    assert custom.send([("a", 212.0), ("b", -500.0), ("c", 32.0)]).rows() == [("a", 100.0), ("c", 0.0)]


def test_the_functions_of_timers_in_the_tutorial_do_what_they_say(files: Path):
    timed, functions = "at bigint, sensor string", {"onTuple": "readings:heard", "onTimer": "readings:silent"}
    custom = OperatorHarness(Custom, [timed], [timed], parameters=functions, event_time="at")
    custom.send([(0, "a"), (10_000, "b"), (30_000, "a")]).watermark(70_000)
    assert custom.rows() == [(70_000, "b")]


def test_a_source_of_the_tutorial_drives_its_region(files: Path):
    shifts = OperatorHarness(importlib.import_module("readings").Shifts, [], [READING], trigger=True)
    offset: dict[str, int] | None = None
    for limit in (600, 600, 100):
        offset = shifts.produce(offset, limit).offset
    assert (offset, shifts.consistent) == ({"reading": 1100}, 1)
