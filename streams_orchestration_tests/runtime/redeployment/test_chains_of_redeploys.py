"""Chains of redeploys of drawn applications at any moment: the results are those of a run without any."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import rows, write_rows
from streams_orchestration_tests.runtime.databases import POSTGRESQL_IS_DEEP
from streams_orchestration_tests.runtime.events import EVENTS, Events, happens
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.runtime.redeployment.drafts import (
    APPLICATIONS,
    COUNT,
    DATABASES,
    DRAFTS,
    Application,
    Draft,
    drafted,
    last_counts,
    results,
    wanted,
)
from streams_orchestration_tests.runtime.shaped import FUSIONS, compilation
from streams_orchestration_tests.runtime.shaped import results as published_of
from streams_orchestration_tests.runtime.shapes import SHAPES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts", "database"), POSTGRESQL_IS_DEEP]


@given(application=APPLICATIONS, first=DRAFTS, chain=st.lists(st.tuples(EVENTS, DRAFTS), min_size=1, max_size=5))
@examples(4)
def test_chains_of_redeploys_change_no_result(
    data: Path, monkeypatch: pytest.MonkeyPatch, application: Application, first: Draft,
    chain: list[tuple[Events, Draft]],
):  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setenv(DATABASES, directory)
        run(data, Path(directory), application, first, chain)


def test_a_channel_of_a_source_that_has_ended_ends_none_that_takes_its_place(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """At the last redeploy one of three channels has read its partitions to the end, the others have not."""
    monkeypatch.setenv(DATABASES, str(tmp_path))
    application = Application("batch", parallel_sinks=True, tail=False, row=False, aggregates=False, marked=False,
                              dealt=True, partitions=True)  # fmt: skip
    first, *others = (
        Draft(3, 0, True, True, True, -2, True, "manual"),
        Draft(4, 1, False, True, False, -3, False, "manual"),
        Draft(3, 0, True, True, False, -1, True, "manual"),
        Draft(2, 4, True, False, True, -2, True, "dedicated"),
    )
    run(data, tmp_path, application, first, [([], draft) for draft in others])


def run(data: Path, directory: Path, application: Application, first: Draft, chain: list[tuple[Events, Draft]]) -> None:
    """Run one chain of redeploys, and compare the results."""
    if not (data / "rows.parquet").exists():
        write_rows(data / "rows.parquet", COUNT)
    local = LocalApplication(Home(directory), drafted(data, application, first), source_limit=4)
    for events, draft in chain:
        for event in events:
            happens(local, *event)
        redeploy(local, drafted(data, application, draft), drops=True)
    local.run()
    assert results(local, application) == wanted(application)
    assert last_counts(local) == Counter(k for k, _ in set(rows(COUNT)))


@given(
    name=st.sampled_from([name for name, shape in SHAPES.items() if shape.fused]),
    first=st.integers(0, len(FUSIONS) - 1),
    chain=st.lists(st.tuples(EVENTS, st.integers(0, len(FUSIONS) - 1)), min_size=1, max_size=5),
)
@examples(6)
def test_chains_of_other_pes_change_no_result_of_any_shape(
    data: Path, name: str, first: int, chain: list[tuple[Events, int]]
):
    with tempfile.TemporaryDirectory() as directory:
        local = LocalApplication(Home(Path(directory)), compilation(data, name, first), source_limit=4)
        for events, fusion in chain:
            for event in events:
                happens(local, *event)
            redeploy(local, compilation(data, name, fusion))
        local.run()
        assert published_of(local, name) == SHAPES[name].expected
