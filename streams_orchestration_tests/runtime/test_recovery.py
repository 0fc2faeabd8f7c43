"""Exactly once: whatever fails and whenever, sinks publish what an uninterrupted run publishes."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import expected_of_network, network
from streams_orchestration_tests.runtime.ordeals import ACTIONS, COUNT, Ordeal

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts", "states_as_changes")]

FUSIONS: list[dict[str, Any]] = [{"fusion": "manual", "pes": n} for n in (1, 3, 7)] + [{"fusion": "legacy"}]


@functools.cache
def compilation(directory: Path, fusion: int) -> PlannedCompilation:
    return network(directory, COUNT, **FUSIONS[fusion])


EVENTS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 99)), max_size=60)


@given(fusion=st.integers(0, len(FUSIONS) - 1), events=EVENTS)
@examples(25)
def test_nothing_is_lost_and_nothing_is_doubled(data: Path, fusion: int, events: list[tuple[str, int]]):
    go_through(data, fusion, events)


@given(fusion=st.integers(0, len(FUSIONS) - 1), events=EVENTS)
@examples(5)
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_nothing_is_lost_and_nothing_is_doubled_on_another_database(
    data: Path, database: str, fusion: int, events: list[tuple[str, int]]
):
    go_through(data, fusion, events)


def go_through(data: Path, fusion: int, events: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        ordeal = Ordeal(Home(Path(directory)), compilation(data, fusion))
        for action, number in events:
            getattr(ordeal, action)(number)
            ordeal.check()
        ordeal.finish()
        ordeal.check()
        assert ordeal.results() == expected_of_network(COUNT)
        assert ordeal.left() == []
