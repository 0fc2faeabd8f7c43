"""Batches grow with what waits, up to what fits into a part of the period."""

from __future__ import annotations

import pytest

from streams_orchestration.runtime.programs.batches import TaskResult
from streams_orchestration.runtime.queries.pacing import FIRST, MIN_BATCH_TUPLES, PART, TARGET_BYTES, Pace

PERIOD = 3.0
TARGET = PERIOD * PART


def paced(*, each: float, fixed: float = 0.0, width: int = 8, ceiling: int = 1 << 24) -> Pace:
    """After twelve batches that cost `fixed` seconds, and `each` seconds a tuple of `width` bytes."""
    pace = Pace(ceiling, cores=2)
    for _ in range(12):
        work = fixed + each * pace.limit
        pace.learn([TaskResult(0, 0, pace.limit, bytes_in=pace.limit * width, seconds=work)], work, PERIOD)
    return pace


@pytest.mark.parametrize("each", [1e-6, 1e-5, 1e-4])
def test_a_batch_takes_about_a_part_of_the_period(each: float):
    assert paced(each=each).limit * each == pytest.approx(TARGET, rel=0.1)


@pytest.mark.parametrize("took", [0.001, 0.1 * TARGET, 0.3 * TARGET, TARGET, 3 * TARGET])
def test_the_next_batch_does_not_take_too_long_even_if_all_time_comes_from_the_tuples(took: float):
    pace = Pace(1 << 24, cores=2)
    pace.learn([TaskResult(0, 0, FIRST, bytes_in=FIRST, seconds=took / 100)], took, PERIOD)
    assert pace.limit > FIRST
    assert pace.limit / FIRST * took <= 1.01 * max(2 * TARGET, 2 * took)


def test_slow_operators_get_small_batches_but_never_tiny_ones():
    assert paced(each=10.0).limit == MIN_BATCH_TUPLES


def test_the_ceiling_is_kept_from_the_first_batch_on():
    assert Pace(100, cores=2).limit == 100
    assert paced(each=1e-9, ceiling=100).limit == 100


def test_wide_tuples_are_bounded_by_memory():
    assert paced(each=1e-9, width=1 << 20).limit * (1 << 20) <= TARGET_BYTES


def test_a_cost_that_does_not_depend_on_the_size_does_not_make_batches_small():
    assert paced(each=1e-7, fixed=5.0).limit > FIRST


def test_a_busy_machine_does_not_make_batches_small():
    pace = Pace(1 << 24, cores=2)
    for turn in range(12):
        work = 0.8 * TARGET if turn % 3 == 0 else 1e-7 * pace.limit
        pace.learn([TaskResult(0, 0, pace.limit, bytes_in=pace.limit, seconds=work)], work + TARGET, PERIOD)
    assert pace.limit > 2 * FIRST


def test_a_source_that_had_little_teaches_nothing():
    pace = Pace(1 << 24, cores=2)
    pace.learn([TaskResult(0, 0, 10, seconds=1.0)], 1.0, PERIOD)
    assert pace.limit == FIRST


@pytest.mark.parametrize("ceiling", [1, 2, 100])
def test_a_batch_without_tuples_teaches_nothing(ceiling: int):
    pace = Pace(ceiling, cores=2)
    pace.learn([TaskResult(0, 0, 0, seconds=0.1)], 0.1, PERIOD)
    assert pace.limit == ceiling


def test_tasks_that_share_the_cores_count_together():
    alone, beside = Pace(1 << 24, cores=1), Pace(1 << 24, cores=4)
    for pace in (alone, beside):
        results = [TaskResult(0, i, FIRST, bytes_in=FIRST, seconds=0.5) for i in range(4)]
        pace.learn(results, 0.5, PERIOD)
    assert alone.limit < beside.limit
