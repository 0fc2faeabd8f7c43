"""State when widths and types change, case by case, by applications that run."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.runtime.redeployment.keyed_states import KEYS, ROW, WHOLE, in_time

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

WIDTHS = (2, 3, 2)


def write(file: Path, count: int = 40) -> Path:
    chosen = random.Random(7)
    rows = in_time([(chosen.choice(KEYS), chosen.randrange(3), 0.5, chosen.randrange(3)) for _ in range(count)])
    types = [pa.string(), pa.int32(), pa.float64(), pa.timestamp("us", "UTC"), pa.int64()]
    columns = {
        name: pa.array([row[place] for row in rows], kind)
        for place, (name, kind) in enumerate(zip("kgxtn", types, strict=True))
    }
    pq.write_table(pa.table(columns), file)
    return file


def by_key(*names: str, width: int) -> dict[str, Any]:
    ports = [{"port": name, "attributes": ["k"]} for name in names]
    return {"annotations": {"parallel": {"width": width, "partitionBy": ports}}}


def parallel(
    file: Path, inner: dict[str, Any], width: int, *, changed: tuple[str, dict[str, str]] = (ROW, {})
) -> PlannedCompilation:
    """Rows -> what changes their type, and marks -> (parallel by key: one operator) -> sink, all in one region.

    Args:
        file: of the rows.
        inner: the operator, which reads the stream `In`, or `In` and `Again`.
        width: of the parallel region.
        changed: the tuple type in front of the region, and expressions of attributes.
    """
    ddl, output = changed
    inputs = inner["inputs"]
    composites = {"PerKey": {"inputs": inputs, "outputs": [inner["name"]], "graph": [inner]}}
    graph = [
        source("Rows", file, outputs=[{"stream": "Rows", "schema": ROW}]),
        node("Typed", "Functor", "Rows", schema=ddl, parameters={"output": output}),
        node("Marked", "Punctor", "Typed", schema=ddl, parameters={"punctuate": "n % 5 = 0", "position": "after"}),
        {"name": "Kept", "operator": "PerKey", "inputs": ["Marked"] * len(inputs), "outputs": ["Kept"]}
        | by_key(*inputs, width=width),
    ]
    return compiled([*graph, sink("Out", "Kept")], composites, fusion="manual", pes=2)


def outcome(home: Path, plans: list[PlannedCompilation]) -> Counter[Any]:
    """Return the tuples that are published when these plans come one after the other."""
    local = LocalApplication(Home(home), plans[0], source_limit=4)
    for plan in plans[1:]:
        for turn in range(6):
            if turn % 3 == 2:
                local.trigger()
            for program in local.programs:
                local.step(program)
        redeploy(local, plan)
    local.run()
    return Counter(repr(row) for path in local.published("Out") for row in pq.read_table(path).to_pylist())


BY_CHANNEL = ("keys with values", "partitions that are given up", "sliding windows of such")
"""The cases whose results depend on batches, or on the other keys in the channel."""
PAIR = "lhs_k string, lhs_n bigint, rhs_n bigint"


def joined(window: str, **more: Any) -> dict[str, Any]:
    parameters = {"window": window, "equalityLHS": ["k"], "equalityRHS": ["k"], **more}
    return node("Op", "Join", "In", "Again", schema=PAIR, parameters=parameters)


DIVIDED = {
    case: node("Op", kind.__name__, "In", schema=ddl, parameters=parameters)
    for case, (kind, ddl, parameters) in WHOLE.items()
    if case not in BY_CHANNEL
} | {
    "Join by time": joined("sliding, time(1000)", timeAttribute="t"),
    "Join by delta": joined("sliding, delta(n, 1000)"),
}


OFTEN = (
    *("a dictionary", "DeDuplicate for good", "tumbling count of two parts", "tumbling time"),
    *("sliding count", "sliding delta trigger", "Join by time"),
)
"""Cases of each form of state; test_rescaling.py divides the states of all of them without an application."""


@pytest.mark.parametrize("case", often(DIVIDED, OFTEN))
def test_state_that_is_divided_gives_what_it_gives_undivided(case: str, tmp_path: Path):
    file = write(tmp_path / "rows.parquet")
    plans = [parallel(file, DIVIDED[case], width) for width in WIDTHS]
    steady = outcome(tmp_path / "steady", plans[-1:])
    assert steady
    assert outcome(tmp_path / "changing", plans) == steady


SUMS = {"window": "sliding, count(3), count(1), partitioned", "partitionBy": ["k"], "groupBy": ["k"]}
SLIDING = node("Op", "Aggregate", "In", schema="k string, n bigint", parameters=SUMS | {"output": {"n": "Sum(g)"}})
TYPES: dict[str, tuple[str, dict[str, str]]] = {
    "an attribute more": (f"{ROW}, more int", {"more": "7"}),
    "a wider type": (ROW.replace("g int", "g bigint"), {"g": "CAST(g AS bigint)"}),
}


@pytest.mark.covering
@pytest.mark.parametrize("change", TYPES)
@pytest.mark.parametrize("width", [2, 3])
def test_tuples_in_a_state_are_converted(change: str, width: int, tmp_path: Path):
    file = write(tmp_path / "rows.parquet")
    before, after = parallel(file, SLIDING, 2), parallel(file, SLIDING, width, changed=TYPES[change])
    assert outcome(tmp_path / "changing", [before, after]) == outcome(tmp_path / "steady", [before])


EVICTED = {"window": "tumbling, count(5), partitioned, partitionCount(2)", "partitionBy": ["k"]}
UNPARTITIONED = {"window": "tumbling, count(7)", "output": {"n": "Count()"}}
REFUSED = {
    "DeDuplicate by count": (node("Op", "DeDuplicate", "In", schema=ROW, parameters={"key": "k", "count": 5}), "count"),
    "Join by count": (joined("sliding, count(5)"), "count"),
    "Join that evicts partitions": (
        joined("sliding, count(5), partitioned, partitionAge(9)", timeAttribute="t", partitionByLHS=["k"],
               partitionByRHS=["k"]),
        "partitionAge(...) gives up there",
    ),
    "Sort that evicts partitions": (
        node("Op", "Sort", "In", schema=ROW, parameters={**EVICTED, "sortBy": ["g"]}), "windows of one channel",
    ),
    "Aggregate that evicts partitions": (
        node("Op", "Aggregate", "In", schema="n bigint", parameters={**EVICTED, "output": {"n": "Count()"}}),
        "partitionCount(...) counts or evicts within the channel",
    ),
    "windows for no partition": (node("Op", "Aggregate", "In", schema="n bigint", parameters=UNPARTITIONED), "window"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_state_that_cannot_be_divided_is_refused_by_name(case: str, tmp_path: Path):
    inner, reason = REFUSED[case]
    file = write(tmp_path / "rows.parquet")
    local = LocalApplication(Home(tmp_path / "home"), parallel(file, inner, 2), source_limit=4)
    for program in local.programs * 2:
        local.step(program)
    redeployment = preview_redeploy(local.catalog, deployable(parallel(file, inner, 3)))
    assert redeployment.verdict == "refused"
    (actual,) = {each.reason for each in redeployment.operators if each.action == "refused"}
    assert "Kept.Op" in actual
    assert reason in actual
