"""A redeploy to another time zone: states that depend on it begin anew, and nothing is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import (
    compiled,
    node,
    published,
    rows,
    sink,
    source,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 64
HOUR = "hour(timestamp_seconds(n * 3600))"
"""The same as `n` in UTC, and one more in Berlin in 1970."""


def hours(directory: Path, zone: str) -> PlannedCompilation:
    """Rows -> the hour of each, the last of four hours, and the sum of four numbers -> sinks, in one region."""
    window = "tumbling, count(4)"
    zoned = {"window": window, "output": {"hour": f"Max({HOUR})", "n": "Max(n)"}}
    graph = [
        source("Rows", write_rows(directory / "rows.parquet", COUNT)),
        node("Hours", "Functor", "Rows", schema="n bigint, hour int", parameters={"output": {"hour": HOUR}}),
        node("Latest", "Aggregate", "Rows", schema="n bigint, hour int", parameters=zoned),
        node("Sums", "Aggregate", "Rows", schema="n bigint", parameters={"window": window, "output": {"n": "Sum(n)"}}),
        *(sink(f"{name}Out", name) for name in ("Hours", "Latest", "Sums")),
    ]
    return compiled(graph, time_zone=zone, fusion="manual", pes=2)


def test_states_that_depend_on_the_zone_are_dropped_and_all_others_are_kept(tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), hours(tmp_path, "UTC"), source_limit=3)
    run_some(local, 6)
    berlin = hours(tmp_path, "Europe/Berlin")
    refused = preview_redeploy(local.catalog, deployable(berlin))
    assert not refused.acceptable
    assert [each.operator for each in refused.operators if each.action == "refused"] == ["Latest"]
    assert refused.zone is not None
    assert refused.zone.operators == ("Hours", "Latest")

    redeploy(local, berlin, lost=["Latest"])
    local.run()

    numbers = [n for _, n in rows(COUNT)]
    came = published(local.published("HoursOut"))
    assert sorted(n for n, _ in came) == sorted(numbers)
    before = sum(hour == n for n, hour in came)
    assert 0 < before < COUNT
    assert before % 4, "the redeploy is not within a window"
    assert sorted(came) == sorted([(n, n) for n in numbers[:before]] + [(n, n + 1) for n in numbers[before:]])
    whole = [*range(0, before - 3, 4)]
    anew = [*range(before, COUNT - 3, 4)]
    assert published(local.published("LatestOut")) == sorted(
        [(max(numbers[i : i + 4]),) * 2 for i in whole]
        + [(max(numbers[i : i + 4]), max(numbers[i : i + 4]) + 1) for i in anew]
    )
    assert published(local.published("SumsOut")) == sorted((sum(numbers[i : i + 4]),) for i in range(0, COUNT, 4))
