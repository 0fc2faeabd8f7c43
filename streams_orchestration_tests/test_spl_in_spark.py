"""Cases of SPL that run, as one application of `streams run`: a composite that invokes their main composites."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import TIMEOUT_SECONDS, streams
from streams_orchestration_tests.spl.applications import CASES, EXPECTED, of_kind

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.usefixtures("no_host_stays")]

PRINTING = """
    stream<int32 n> Counted = Beacon() { param iterations : 3; output Counted : n = (int32) IterationCount(); }
    () as Printing = Custom(Counted) { logic onTuple Counted : { printString("n="); println(n); } }
"""


@pytest.mark.parametrize("every", [24, pytest.param(1, marks=pytest.mark.deep)])
def test_cases_are_right_in_one_run_and_what_is_printed_is_shown(tmp_path: Path, every: int):
    """Every twenty-fourth case; without Spark, `spl/test_applications.py` runs each of them."""
    names = of_kind("run")[::every]
    for name in names:
        shutil.copytree(CASES / name, tmp_path / name)
    mains = "".join(f"    () as Of_{name} = {EXPECTED[name]['main']}() {{ }}\n" for name in names)
    (tmp_path / "everything").mkdir()
    spec = tmp_path / "everything" / "Main.spl"
    spec.write_text(f"namespace everything;\ncomposite Main {{\n  graph\n{mains}{PRINTING}}}\n", encoding="utf-8")
    given = dict(each.split("=") for name in names for each in EXPECTED[name].get("arguments", []) if "=" in each)
    settings = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    command = ["run", str(spec), *settings, "--format", "json", "--max-rows", "100"]
    with streams(Home(tmp_path / "home"), *command) as process:
        output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, output
    assert "Printing: n=2" in output.splitlines()
    document = json.loads(output[output.index("\n{\n") :] if not output.startswith("{") else output)
    found = {each["operator"]: each for each in document["results"]}
    for name in names:
        for sink, wanted in EXPECTED[name]["results"].items():
            rows = [[row[column] for column in wanted["columns"]] for row in found[f"Of_{name}.{sink}"]["rows"]]
            texts = [repr(row).replace(f"Of_{name}.", "") for row in rows]  # values may be names of operators
            assert sorted(texts) == sorted(map(repr, wanted["rows"])), f"{name}: {sink}"
    printed = {each["operator"]: each for each in document["printed"]}
    assert printed["Printing"] == {"operator": "Printing", "total": 3, "lines": ["n=0", "n=1", "n=2"]}
