"""Aligned barriers: when a batch may begin, what it reads, and whether it ends the epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streams_orchestration.runtime.programs.batches import Position
from streams_orchestration.runtime.queries.planning import plan_batch
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT, SEGMENTS_LIMIT
from streams_orchestration_tests.runtime.pe_views import (
    program,
    read,
    stream,
    view,
)


def test_a_batch_never_crosses_the_boundary_of_an_epoch():
    plan = plan_batch(program("A"), view(A=stream(1, 1, 2, 2, producer=3)))
    assert plan is not None
    assert read(plan) == ["0", "1"]
    assert plan.boundary
    assert plan.position.inputs == {"A": 2}


def test_an_epoch_is_closed_only_when_all_streams_have_delivered_it():
    waiting = view(A=stream(1, producer=2), B=stream(1, producer=1))
    plan = plan_batch(program("A", "B"), waiting)
    assert plan is not None
    assert not plan.boundary
    ready = view(A=stream(1, producer=2), B=stream(1, producer=2))
    plan = plan_batch(program("A", "B"), ready)
    assert plan is not None
    assert plan.boundary


def test_a_stream_that_is_ahead_waits_for_the_others():
    position = Position(inputs={"A": 1})
    assert plan_batch(program("A", "B"), view(A=stream(2, 2, first=1, producer=3), B=stream(producer=1),
                                              position=position)) is None  # fmt: skip


def test_an_empty_epoch_is_closed_as_well():
    plan = plan_batch(program("A"), view(A=stream(producer=2)))
    assert plan is not None
    assert plan.boundary
    assert read(plan) == []


def test_an_epoch_with_more_segments_than_a_batch_takes_is_closed_by_its_last_batch():
    many = stream(*[1] * (SEGMENTS_LIMIT + 1), producer=2)
    plan = plan_batch(program("A"), view(A=many))
    assert plan is not None
    assert (len(read(plan)), plan.boundary) == (SEGMENTS_LIMIT, False)
    rest = stream(1, 2, first=SEGMENTS_LIMIT, producer=3)
    plan = plan_batch(program("A"), view(A=rest, position=plan.position))
    assert plan is not None
    assert (read(plan), plan.boundary) == ([str(SEGMENTS_LIMIT)], True)


def test_a_source_goes_on_while_the_trigger_has_not_fired():
    plan = plan_batch(program(source=True, starts=True), view())
    assert plan is not None
    assert not plan.boundary
    assert plan.inputs[1].sources == {"Src": {"row": 3}}
    assert (plan.life, plan.generation, plan.batch, plan.epoch) == ("life", 2, 8, 1)


def test_the_trigger_ends_the_epoch_at_the_start_without_stopping_the_source():
    plan = plan_batch(program(source=True, starts=True), view(trigger=1))
    assert plan is not None
    assert plan.boundary
    assert plan.inputs[1].sources


def test_a_start_that_closed_its_epoch_goes_on_in_the_next():
    plan = plan_batch(program(source=True, starts=True), view(epoch=2, trigger=1))
    assert plan is not None
    assert not plan.boundary


@pytest.mark.parametrize("trigger", [0, 1])
def test_an_exhausted_source_takes_part_in_boundaries_only(trigger: int):
    exhausted = Position(sources={"Src": {"row": 3}}, exhausted=("Src",))
    plan = plan_batch(program(source=True, starts=True), view(trigger=trigger, position=exhausted))
    if trigger == 0:
        assert plan is None
    else:
        assert plan is not None
        assert plan.boundary
        assert plan.inputs[1].sources == {}
        assert plan.position.sources == {"Src": {"row": 3}}


def test_a_start_in_the_middle_waits_for_its_streams_and_the_trigger():
    both = program("A", starts=True)
    assert plan_batch(both, view(A=stream(producer=2))) is None
    assert plan_batch(both, view(trigger=1, A=stream(producer=1))) is None
    assert plan_batch(both, view(trigger=1, A=stream(producer=2))) is not None


def test_the_boundary_of_the_last_epoch_is_final():
    for final_epoch, expected in ((None, False), (2, False), (1, True)):
        plan = plan_batch(program("A"), view(final_epoch=final_epoch, A=stream(1, producer=2)))
        assert plan is not None
        assert plan.final is expected


def test_nothing_comes_after_the_final_batch():
    assert plan_batch(program("A"), view(final=True, A=stream(1, producer=2))) is None


def test_a_foreign_stream_is_read_whatever_its_epochs_and_holds_up_no_boundary():
    plan = plan_batch(program("A", foreign=("F",)), view(A=stream(1, producer=2), F=stream(5, 6, producer=7)))
    assert plan is not None
    assert plan.position.inputs == {"A": 1, "F": 2}
    assert plan.boundary


def test_an_autonomous_pe_closes_an_epoch_with_every_batch():
    alone = program(foreign=("F",), autonomous=True)
    plan = plan_batch(alone, view(F=stream(5, producer=7)))
    assert plan is not None
    assert (plan.boundary, plan.final) == (True, False)


def test_an_autonomous_pe_makes_no_empty_batches():
    assert plan_batch(program(foreign=("F",), autonomous=True), view(F=stream(producer=7))) is None


def test_an_autonomous_pe_ends_when_all_its_streams_have_ended_and_are_read():
    alone = program(foreign=("F", "G"), autonomous=True)
    ended = stream(5, producer=7, ended=True)
    plan = plan_batch(alone, view(F=ended, G=stream(producer=1)))
    assert plan is not None
    assert (plan.final, plan.position.exhausted) == (False, ("F",))
    plan = plan_batch(alone, view(F=ended, G=stream(producer=2, ended=True)))
    assert plan is not None
    assert plan.final


def test_a_foreign_stream_has_not_ended_before_it_is_read():
    many = stream(*[1] * (SEGMENTS_LIMIT + 1), producer=2, ended=True)
    plan = plan_batch(program(foreign=("F",), autonomous=True), view(F=many))
    assert plan is not None
    assert (plan.final, plan.position.exhausted) == (False, ())


def test_an_autonomous_source_ends_with_one_last_batch():
    alone = program(source=True, autonomous=True)
    plan = plan_batch(alone, view())
    assert plan is not None
    assert not plan.final
    plan = plan_batch(alone, view(position=Position(sources={"Src": {"row": 3}}, exhausted=("Src",))))
    assert plan is not None
    assert plan.final
    assert plan.inputs[1].sources == {}


def test_planning_changes_nothing_it_was_given():
    position = Position(inputs={"A": 0}, sources={"Src": {"row": 3}}, outputs={"O": 4})
    given = view(A=stream(1, producer=1), position=position)
    plan = plan_batch(program("A", source=True), given)
    assert plan is not None
    assert position == Position(inputs={"A": 0}, sources={"Src": {"row": 3}}, outputs={"O": 4})
    assert plan.position.outputs == {"O": 4}
    assert plan == plan_batch(program("A", source=True), given)


def test_a_producer_waits_for_a_slow_consumer():
    ready = view(A=stream(1, producer=1))
    for held in (False, True):
        behind = OUTSTANDING_LIMIT if held else OUTSTANDING_LIMIT - 1
        plan = plan_batch(program("A", source=True, starts=True), replace(ready, outstanding=behind))
        assert (plan is None) is held


def test_a_held_source_has_not_ended():
    plan = plan_batch(program(source=True, autonomous=True), replace(view(), outstanding=OUTSTANDING_LIMIT))
    assert plan is None


def test_a_held_start_still_ends_an_epoch_since_consumers_outside_of_the_region_wait_for_that():
    plan = plan_batch(program(source=True, starts=True), replace(view(trigger=1), outstanding=OUTSTANDING_LIMIT))
    assert plan is not None
    assert plan.boundary
    assert not plan.inputs[1].sources


def test_a_held_pe_does_not_end_an_epoch_with_tuples_left_to_read():
    assert plan_batch(program("A"), replace(view(A=stream(1, producer=2)), outstanding=OUTSTANDING_LIMIT)) is None


def test_an_operator_that_wants_to_be_called_gets_a_batch_without_input():
    waiting = view(position=Position(wake=100.0), A=stream(producer=2))
    autonomous = program("A", autonomous=True)
    assert plan_batch(autonomous, waiting, now=99.9) is None
    assert plan_batch(autonomous, waiting) is None
    plan = plan_batch(autonomous, waiting, now=100.0)
    assert plan is not None
    assert read(plan) == []
    assert plan.position.wake is None


def test_a_pe_that_waits_for_its_consumers_is_not_called_by_the_clock():
    waiting = replace(view(position=Position(wake=100.0), A=stream(producer=2)), outstanding=OUTSTANDING_LIMIT)
    assert plan_batch(program("A", autonomous=True), waiting, now=200.0) is None
