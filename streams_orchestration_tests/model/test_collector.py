from __future__ import annotations

import gc
import weakref

import pytest

from streams_orchestration.model import collector
from streams_orchestration.model.collector import uncollected


class Node:
    """One that refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.slow
def test_nothing_is_collected_meanwhile_and_everything_afterwards(monkeypatch):
    for many in (0, 10**9):  # counted as old, and not
        monkeypatch.setattr(collector, "MANY", many)
        with uncollected():
            assert not gc.isenabled()
            lost = weakref.ref(Node())
            kept = [Node() for _ in range(10_000)]
            assert lost() is not None
        assert gc.isenabled()
        gc.collect()
        assert lost() is None
        assert len(kept) == 10_000


@pytest.mark.slow
def test_very_many_new_objects_count_as_old_at_once(monkeypatch):
    monkeypatch.setattr(collector, "MANY", 1000)
    gc.collect()
    with uncollected():
        made = [[number] for number in range(5000)]
    assert not any(each is made for each in gc.get_objects(generation=0))
    assert any(each is made for each in gc.get_objects(generation=2))


def test_the_collector_stays_off_if_it_was_off():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
