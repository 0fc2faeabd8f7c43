"""Results do not depend on how the application is cut into PEs, tasks, batches and channels."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import (
    compiled,
    expected_totals,
    node,
    published,
    rows,
    sink,
    source,
    totals,
    write_rows,
)
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.slow

COUNT = 60

FUSION: list[dict[str, Any]] = [{"fusion": "legacy"}, {"fusion": "automatic"}]
FUSION += [{"fusion": "manual", "pes": n} for n in (1, 3, 6)]


def results(tmp_path: Path, source_limit: int = 25, width: int = 2, **options: Any) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    application = LocalApplication(Home(tmp_path / "home"), totals(file, width, **options), source_limit)
    application.run()
    return application


def check(application: LocalApplication) -> None:
    assert published(application.published("Out")) == expected_totals(rows(COUNT))
    assert published(application.published("Raw")) == sorted(rows(COUNT))


@pytest.mark.covering
@pytest.mark.parametrize("width", [1, 3, *(pytest.param(width, marks=pytest.mark.deep) for width in (2, 4))])
@pytest.mark.parametrize("fusion", FUSION, ids=lambda options: "-".join(map(str, options.values())))
def test_results_are_those_of_pandas_for_every_width_and_fusion(tmp_path: Path, width: int, fusion: dict[str, Any]):
    check(results(tmp_path, width=width, **fusion))


@pytest.mark.covering
@pytest.mark.parametrize("threading", ["manual", "automatic", "dynamic", "dedicated"])
@pytest.mark.parametrize("fusion", ["manual", "legacy", "automatic"])
def test_results_do_not_depend_on_the_threading_model(tmp_path: Path, threading: str, fusion: str):
    check(results(tmp_path, threading=threading, fusion=fusion, pes=1 if fusion == "manual" else None))


@pytest.mark.parametrize("source_limit", [1, 7, COUNT - 1, COUNT, COUNT + 1, 10_000])
def test_results_do_not_depend_on_the_size_of_batches(tmp_path: Path, source_limit: int):
    check(results(tmp_path, source_limit))


def test_a_pe_may_be_a_chain_of_more_operators_than_python_has_frames(tmp_path: Path):
    before, length = sys.getrecursionlimit(), 300
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    names = ["Rows", *(f"Twice{number}" for number in range(length))]
    chain = [
        node(name, "Functor", upstream, parameters={"output": {"n": "n + 1"}}) for upstream, name in pairwise(names)
    ]
    plan = compiled([source("Rows", file), *chain, sink("Out", names[-1])], fusion="manual", pes=1)
    application = LocalApplication(Home(tmp_path / "home"), plan, COUNT)
    try:
        application.run()
    finally:
        sys.setrecursionlimit(before)
    assert [n for _, n in published(application.published("Out"))] == [n + length for _, n in sorted(rows(COUNT))]


@pytest.mark.parametrize("channels", ["noChannelInfluence", "channelExlocation", "channelIsolation"])
def test_results_do_not_depend_on_where_channels_are(tmp_path: Path, channels: str):
    check(results(tmp_path, width=3, channel_fusion=channels))


def test_pes_of_a_region_that_feed_each_other_are_refused(tmp_path: Path):
    with pytest.raises(ApplicationError, match=r"the PEs 0, 1, 2, 3 of one consistent region feed each other"):
        results(tmp_path, width=3, channel_fusion="channelIsolation", faithful=True)


@pytest.mark.parametrize("faithful", [True, False])
def test_results_do_not_depend_on_the_order_of_consumers(tmp_path: Path, faithful: bool):
    check(results(tmp_path, fusion="manual", pes=1, faithful=faithful))
