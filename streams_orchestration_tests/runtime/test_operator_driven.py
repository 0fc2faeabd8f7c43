"""Operator-driven regions: the trigger operator says where an epoch ends, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.deployment.cutting import cut_pes
from streams_orchestration.compiler.deployment.recovery_units import recovery_units
from streams_orchestration.operators.contract.operator import Offset, ProducedTo, SourceOperator
from streams_orchestration.operators.contract.region_role import NotTheTriggerError, RegionRole
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import compiled, node, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.driven import DRIVEN, beacon, epochs
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.usefixtures("no_hosts")


@pytest.mark.covering
@pytest.mark.parametrize("fusion", [{"fusion": "legacy"}, {"fusion": "manual", "pes": 1}], ids=["legacy", "one PE"])
@pytest.mark.parametrize("limit", [3, 7, 1000])
def test_an_epoch_ends_after_so_many_tuples_however_they_come(tmp_path: Path, fusion: dict[str, Any], limit: int):
    local = LocalApplication(Home(tmp_path), beacon(23, 10, **fusion), limit)
    local.run()
    assert epochs(local) == [list(range(10)), list(range(10, 20)), list(range(20, 23))]


def test_an_epoch_ends_with_every_file(tmp_path: Path):
    for name, first in (("a", 0), ("b", 20)):
        write_rows(tmp_path / f"{name}.parquet", 12, first)
    graph = [source("Rows", tmp_path / "*.parquet", **DRIVEN), node("Held", "Holding", "Rows"), sink("Out", "Held")]
    local = LocalApplication(Home(tmp_path / "home"), compiled(graph), 5)
    local.run()
    assert epochs(local) == [[n for _, n in sorted(rows(12, first))] for first in (0, 20)]


def test_the_clock_ends_no_epoch_and_the_start_waits_for_its_epoch(tmp_path: Path):
    local = LocalApplication(Home(tmp_path), beacon(30, 10, fusion="legacy"), 10)
    first = local.programs[0]
    assert first.driven
    local.trigger()
    assert local.step(first)
    assert local.step(first), "the batch that carries the boundary"
    assert not local.step(first), "its epoch is not complete yet"
    for program in local.programs[1:]:
        while local.step(program):
            pass
    assert local.step(first)


@given(events=st.lists(st.tuples(st.sampled_from(["step"] * 6 + ["reset"]), st.integers(0, 9)), max_size=30))
@examples(10)
def test_a_reset_replays_the_same_epochs(events: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory):
    local = LocalApplication(Home(tmp_path_factory.mktemp("home")), beacon(23, 10, fusion="legacy"))
    for action, number in events:
        local.source_limit = 2 + number
        if action == "step":
            local.step(local.programs[number % len(local.programs)])
        else:
            reset_unit(local.catalog, local.name, "region-0", force=True)
    local.run()
    assert epochs(local) == [list(range(10)), list(range(10, 20)), list(range(20, 23))]


class Batches(SourceOperator):
    """Ends an epoch with every call."""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        self.context.make_consistent()
        return ProducedTo(offset, False)


def test_only_the_trigger_can_make_a_region_consistent():
    driving = OperatorHarness(Batches, trigger=True)
    driving.produce()
    assert driving.consistent == 1
    with pytest.raises(NotTheTriggerError, match="trigger: operatorDriven"):
        OperatorHarness(Batches).produce()


def test_operators_know_their_place_in_the_region():
    compilation = beacon(23, 10, fusion="manual", pes=1)
    (program,) = cut_pes(compilation, recovery_units(compilation))
    roles = {operator.name: operator.region for operator in program.operators.values()}
    assert roles == {
        "Rows": RegionRole(0, start=True, trigger=True),
        "Held": RegionRole(0),
        "Passed": RegionRole(0),
        "Out": RegionRole(0, end=True),
    }
