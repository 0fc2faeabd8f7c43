"""Regions that an operator drives are redeployed at its own cuts, and their epochs stay those of the operator."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.redeployment import draining
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime import locked, redeployed
from streams_orchestration_tests.runtime.driven import beacon, epochs
from streams_orchestration_tests.runtime.events import EVENTS, happens
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import adopt, redeploy
from streams_orchestration_tests.runtime.running import FakeHosts

EPOCHS = [list(range(10)), list(range(10, 20)), list(range(20, 23))]


@pytest.mark.slow
@pytest.mark.usefixtures("no_hosts", "database")
@given(
    patience=st.sampled_from([0, 20]),
    chain=st.lists(st.tuples(EVENTS, st.integers(1, 4)), min_size=1, max_size=5),
)
@examples(3)
def test_redeploys_at_any_time_change_no_epoch(
    monkeypatch: pytest.MonkeyPatch, patience: int, chain: list[tuple[list[tuple[str, int]], int]]
):
    monkeypatch.setattr(redeployed, "DRAIN_TURNS", patience)
    with tempfile.TemporaryDirectory() as directory:
        local = LocalApplication(Home(Path(directory)), beacon(23, 10, fusion="manual", pes=2), 3)
        for events, pes in chain:
            for event in events:
                happens(local, *event)
            redeploy(local, beacon(23, 10, fusion="manual", pes=pes))
        local.run()
        assert epochs(local) == EPOCHS


def test_a_region_that_comes_to_no_cut_goes_back_to_its_last_one(
    tmp_path: Path, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(draining, "OWN_CUT_SECONDS", 0.0)
    local = LocalApplication(Home(tmp_path), beacon(23, 10, fusion="manual", pes=2), 3)
    for program in local.programs:
        local.step(program)
    assert locked.begin_redeploy(local.home, deployable(beacon(23, 10, fusion="manual", pes=1))).verdict == "kept"
    adopt(local)
    local.run()
    assert epochs(local) == EPOCHS


def test_a_held_region_goes_on_to_its_own_next_cut_and_no_further(tmp_path: Path):
    local = LocalApplication(Home(tmp_path), beacon(23, 10, fusion="manual", pes=1), 4)
    (program,) = local.programs
    assert local.step(program)
    draining.hold_units(local.held())
    assert [local.step(program) for _ in range(6)] == [True, True, True, False, False, False]
    assert epochs(local) == EPOCHS[:1]
