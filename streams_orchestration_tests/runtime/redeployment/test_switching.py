"""Another plan takes the place of the one that runs, and the results are those of a run without any change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors.errors import NotDeployableError
from streams_orchestration.runtime.redeployment.redeploying import NotDrainedError, RedeployRefusedError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.applications import (
    compiled,
    expected_of_network,
    expected_totals,
    network,
    node,
    published,
    rows,
    sink,
    source,
    totals,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.redeployed import COUNT, adopt, counts, kept_of, redeploy, run_some, visits
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.slow


def test_operators_go_to_other_pes_with_their_states(tmp_path: Path, database: str):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    local = LocalApplication(Home(tmp_path / "home"), totals(file, fusion="manual", pes=3), source_limit=4)
    run_some(local, 4)
    redeployment = redeploy(local, totals(file, fusion="manual", pes=1))
    assert redeployment.verdict == "kept"
    run_some(local, 3)
    redeploy(local, totals(file, fusion="manual", pes=2))
    local.run()
    assert published(local.published("Out")) == expected_totals(rows(COUNT))
    assert published(local.published("Raw")) == sorted(rows(COUNT))


def test_a_redeploy_that_would_lose_state_changes_nothing(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3), source_limit=4)
    run_some(local, 4)
    before = kept_of(local)
    unkeyed = visits(tmp_path, 2, 3, kept=["n"])
    with pytest.raises(RedeployRefusedError, match=r"(?s)is unchanged.*Counted\.Kept ×2: state of"):
        locked.begin_redeploy(local.home, deployable(unkeyed))
    assert kept_of(local) == before


def test_an_application_that_does_not_drain_in_time_keeps_the_old_plan(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3), source_limit=4)
    run_some(local, 4)
    with pytest.raises(
        NotDrainedError, match=r"app keeps running unchanged: region-0 has not closed its epoch after 0 s"
    ):
        locked.begin_redeploy(local.home, deployable(visits(tmp_path, 2, 1)), within=0.0)
    local.run()
    assert local.compilation.fusion.pes


def test_a_complete_application_cannot_be_redeployed(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3))
    local.run()
    with pytest.raises(NotDeployableError, match=r"app is complete.*--fresh"):
        locked.begin_redeploy(local.home, deployable(visits(tmp_path, 2, 1)))


def test_a_unit_that_has_failed_goes_on_from_its_cut_with_the_new_plan(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3), source_limit=4)
    run_some(local, 4)
    with local.catalog.write() as connection:
        connection.execute(update(tables.unit).values(state="UNHEALTHY"))
    after = locked.begin_redeploy(local.home, deployable(visits(tmp_path, 3, 2)))
    assert after.verdict == "kept"
    adopt(local)
    local.run()
    assert counts(local) == Counter(key for key, _ in set(rows(COUNT)))


def two_chains(directory: Path, order: Sequence[str]) -> PlannedCompilation:
    """Two sources with a sink each, in this order."""
    file = write_rows(directory / "rows.parquet", COUNT)
    parts = {name: [source(name, file), sink(f"Out{name}", name)] for name in order}
    return compiled([part for name in order for part in parts[name]])


def test_a_plan_that_is_only_written_in_another_order_is_known_from_then_on(tmp_path: Path, hosts: FakeHosts):
    local = LocalApplication(Home(tmp_path / "home"), two_chains(tmp_path, "AB"), source_limit=4)
    run_some(local, 4)
    other = two_chains(tmp_path, "BA")
    first, second = (locked.begin_redeploy(local.home, deployable(other)) for _ in range(2))
    assert first.verdict == second.verdict == "unchanged"
    assert first.before != first.after
    assert second.before == second.after
    deploy(local.home, deployable(other))
    adopt(local)
    local.run()
    assert published(local.published("OutA")) == published(local.published("OutB")) == sorted(rows(COUNT))


def test_a_sink_that_goes_and_comes_back_publishes_behind_what_it_has_published(tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), two_chains(tmp_path, "AB"), source_limit=8)
    for _ in range(3):
        run_some(local, 6)
    before = Counter(published(local.published("OutB")))
    assert before
    redeploy(local, two_chains(tmp_path, "A"), drops=True)
    redeploy(local, two_chains(tmp_path, "AB"))
    local.run()
    assert Counter(published(local.published("OutB"))) - before == Counter(rows(COUNT))
    assert published(local.published("OutA")) == sorted(rows(COUNT))


def test_a_unit_that_is_complete_stays_so_while_others_run_on(tmp_path: Path):
    file, few = write_rows(tmp_path / "rows.parquet", COUNT), write_rows(tmp_path / "few.parquet", 1)
    graph = [source("Few", few), node("Held", "Holding", "Few"), sink("OutFew", "Held")]
    graph += [source("Many", file), sink("Out", "Many")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="legacy"), source_limit=4)
    while not all(local.plan(program) is None for program in local.programs if program.unit == "region-0"):
        run_some(local, 3)
    steps = len(local.results)
    redeploy(local, compiled(graph, fusion="manual", pes=1))
    redeploy(local, compiled(graph, fusion="manual", pes=4))
    ids = {program.pe for program in local.programs if program.unit == "region-0"}
    assert len(ids) > 1
    assert [local.plan(program) for program in local.programs if program.pe in ids] == [None] * len(ids)
    local.run()
    assert len(local.results) > steps
    assert published(local.published("OutFew")) == rows(1)
    assert published(local.published("Out")) == sorted(rows(COUNT))


PLANS = st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(1, 4))
"""Turns before the change, the width and the number of PEs from then on."""


@examples(9)
@given(st.lists(PLANS, min_size=1, max_size=5))
def test_any_changes_of_widths_at_any_time_change_no_result(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, int]]
):
    directory = tmp_path_factory.mktemp("run")
    local = LocalApplication(Home(directory / "home"), visits(directory, 2, 3), source_limit=4)
    for turns, width, pes in changes:
        run_some(local, turns)
        redeploy(local, visits(directory, width, pes))
    local.run()
    assert counts(local) == Counter(key for key, _ in set(rows(COUNT)))


@examples(9)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=5))
def test_any_changes_of_pes_at_any_time_change_no_result(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
):
    directory = tmp_path_factory.mktemp("run")
    local = LocalApplication(
        Home(directory / "home"), network(directory, COUNT, fusion="manual", pes=3), source_limit=4
    )
    for turns, pes in changes:
        run_some(local, turns)
        redeploy(local, network(directory, COUNT, fusion="manual", pes=pes))
    local.run()
    assert {name: published(local.published(name)) for name in expected_of_network(COUNT)} == expected_of_network(COUNT)
