"""A misspelt name in an application in Python is an error of types."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

APPLICATION = """\
from streams_orchestration.builder import Application, operators as op

app = Application("a")
numbers = app.stream(op.Beacon(iterations=3), schema="n bigint")
numbers.filter("n > 1").sink(op.FileSink(file="out", format="csv"))
numbers.fliter("n > 1")
app.streem(op.Beacon())
op.Beacon(iteration=3)
op.FileSink(file="out", format="parket")
op.Punctor(position="after")
from streams_orchestration.builder import col, functions, when
right = numbers.filter((col("n") > 1) & functions.upper("a").like("A%")).select("n", m=when(col("n") == 1, 2))
op.Filter(filter=col("n").is_null() | ~(1 - col("n")).isin(1, 2.5, "a"))
col("n").is_nul()
functions.uper(col("n"))
functions.upper()
col("n") + object()
"""
WRONG = {
    6: "fliter",
    7: "streem",
    8: "iteration",
    9: "parket",
    10: "punctuate",
    14: "is_nul",
    15: "uper",
    16: "positional",
    17: "object",
}
"""Line -> what is named in its error."""


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("pyright", path=Path(sys.executable).parent) is None, reason="pyright is not installed"
)
def test_a_misspelt_method_parameter_or_value_is_an_error_of_types(tmp_path: Path):
    (tmp_path / "app.py").write_text(APPLICATION, encoding="utf-8")
    pyright = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "app.py"]
    checked = subprocess.run(pyright, cwd=tmp_path, capture_output=True, text=True, check=False)
    findings = json.loads(checked.stdout)["generalDiagnostics"]
    errors = {each["range"]["start"]["line"] + 1: each["message"] for each in findings if each["severity"] == "error"}
    assert errors.keys() == WRONG.keys()
    assert all(name in errors[line] for line, name in WRONG.items())
