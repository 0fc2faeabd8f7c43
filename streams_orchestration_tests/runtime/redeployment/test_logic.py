"""Redeploys keep the variables of logic in SPL as long as these have the same names and types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 40
STATE = "mutable int32 seen = 0; mutable map<rstring, int32> keys = {};"
ROW, NUMBERED = "k string NOT NULL, n bigint NOT NULL", "k string NOT NULL, n bigint NOT NULL, seen int NOT NULL"
KINDS = ("Custom", "Functor", "Filter")


def counting(
    directory: Path, kind: str, state: str = STATE, body: str = "seen++; keys[k] = seen;"
) -> PlannedCompilation:
    """Rows -> an operator that counts them -> sink; only the Functor and the Custom write the count."""
    logic: dict[str, Any] = {"state": state, "onTuple": {"0": f"{{ {body} }}"}, "inputs": {"In": ""}}
    given: dict[str, dict[str, Any]] = {
        "Custom": {},
        "Functor": {"output": {"seen": {"spl": "seen"}}},
        "Filter": {"filter": {"spl": "seen > 0"}},
    }
    if kind == "Custom":
        logic["onTuple"] = {"0": f"{{ {body} submit({{k = k, n = n, seen = seen}}, Op); }}"}
    graph = [
        source("Rows", write_rows(directory / "rows.parquet", COUNT), outputs=[{"stream": "Rows", "schema": ROW}]),
        node(
            "Op", kind, "Rows", schema=ROW if kind == "Filter" else NUMBERED, parameters={**given[kind], "spl": logic}
        ),
        sink("Out", "Op"),
    ]
    return compiled(graph, fusion="manual", pes=1)


def started(directory: Path, kind: str) -> LocalApplication:
    """Return an application in the middle of its rows."""
    local = LocalApplication(Home(directory / "home"), counting(directory, kind), source_limit=4)
    run_some(local, 6)
    return local


@pytest.mark.parametrize(("kind", "body"), [("Functor", "seen += 100;"), ("Custom", "seen += 100;")])
def test_a_redeploy_with_other_bodies_goes_on_with_the_variables(kind: str, body: str, tmp_path: Path):
    local = started(tmp_path, kind)
    redeploy(local, counting(tmp_path, kind, body=body))
    local.run()
    seen = sorted(row["seen"] for path in local.published("Out") for row in pq.read_table(path).to_pylist())
    before = sum(each < 100 for each in seen)
    assert 0 < before < COUNT
    assert seen == [*range(1, before + 1), *(before + 100 * more for more in range(1, COUNT - before + 1))]


CHANGES = {
    "another body": (STATE, "seen--;", "acceptable"),
    "another first value": (STATE.replace("= 0", "= 7"), "seen++;", "acceptable"),
    "another name": (STATE.replace("keys", "known"), "seen++;", "refused"),
    "another type": (STATE.replace("map<rstring, int32>", "map<rstring, int64>"), "seen++;", "refused"),
    "a variable more": (STATE + " mutable int32 more = 0;", "seen++;", "refused"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_redeploy_keeps_state_only_if_the_variables_are_the_same(kind: str, change: str, tmp_path: Path):
    state, body, expected = CHANGES[change]
    local = started(tmp_path, kind)
    found = preview_redeploy(local.catalog, deployable(counting(tmp_path, kind, state, body)))
    assert ("acceptable" if found.acceptable else found.verdict) == expected
    refused = [each.operator for each in found.operators if each.action == "refused"]
    assert refused == ([] if expected == "acceptable" else ["Op"])
