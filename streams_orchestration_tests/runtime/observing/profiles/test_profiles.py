"""A profile is the difference of two readings of the metrics; what sending costs is fitted or calibrated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.model.profile import PassageCost
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics, OperatorMetrics, PeMetrics, PortMetrics
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.observing.profiles.calibration import calibrate
from streams_orchestration.runtime.observing.profiles.differences import NotProfiledError, profile_of
from streams_orchestration.runtime.observing.profiles.measuring import measure_application
from streams_orchestration.runtime.observing.profiles.passage_costs import Passage, fit_passage_cost, scaled
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.protocol.topologies import topology
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

COUNT = 60
SHAPE = PassageCost(1e-8, 1e-9)
COSTS = st.floats(0, 1e-5)


def known(_rows: int) -> tuple[PassageCost, PassageCost]:
    return SHAPE, SHAPE


def readings(tmp_path: Path, **options: Any) -> tuple[LocalApplication, ApplicationMetrics, ApplicationMetrics]:
    """Return an application, its metrics after its first batches, and at its end."""
    application = LocalApplication(
        Home(tmp_path / "home"), totals(write_rows(tmp_path / "in.csv", COUNT), **options), 20
    )
    for program in application.programs:
        application.step(program)
    before = read_metrics(application.catalog, application.name)
    application.run()
    return application, before, read_metrics(application.catalog, application.name)


def test_amounts_are_what_happened_between_two_readings(tmp_path: Path):
    application, before, after = readings(tmp_path)
    profile = profile_of(application.compilation, before, idle(after), known)
    former = {each.name: each for each in before.operators}
    for each in after.operators:
        mine = next(x for x in profile.operators if x.operator == each.name)
        then = former.get(each.name)
        assert mine.cpu_seconds == pytest.approx((each.cpu_ns - (then.cpu_ns if then else 0)) / 1e9, abs=1e-6)
        for port, tuples in enumerate(mine.inputs):
            assert tuples == each.inputs[port].tuples - (then.inputs[port].tuples if then else 0)
        sent = {x.port: (x.tuples, x.bytes) for x in profile.streams if x.operator == each.name}
        for port in each.outputs:
            known_port = then.outputs[port.port] if then else PortMetrics(port.port, 0, 0, 0, 0)
            assert sent[port.port] == (port.tuples - known_port.tuples, port.bytes - known_port.bytes)
    assert profile.seconds == pytest.approx(after.at - before.at, abs=1e-3)
    assert not profile.unmeasured
    for pe in profile.pes:
        assert pe.cpu_seconds >= pe.overhead_seconds >= 0


def idle(metrics: ApplicationMetrics) -> ApplicationMetrics:
    """Return the readings with PEs that were in batches for no time."""
    return replace(metrics, pes=tuple(replace(pe, plan_ns=0, spark_ns=0, commit_ns=0) for pe in metrics.pes))


@pytest.mark.parametrize(("busy", "factor"), [(4.5, 2.0), (1.0, 1.0)])
def test_a_pe_that_never_rests_is_measured_from_commit_to_commit(tmp_path: Path, busy: float, factor: float):
    """Its last batch was committed five seconds before the end, and one before the beginning."""
    application, _, after = readings(tmp_path)
    nothing = replace(after, at=100.0, operators=(), streams=(), queues=())
    before = replace(nothing, pes=tuple(replace(pe, at=99.0) for pe in idle(after).pes))
    pes = tuple(replace(pe, at=104.0, spark_ns=int(busy * 1e9)) for pe in idle(after).pes)
    profile = profile_of(application.compilation, before, replace(after, at=110.0, pes=pes), known)
    assert profile.seconds == 10.0
    raw = {each.name: each for each in after.operators}
    for each in profile.operators:
        assert each.cpu_seconds == pytest.approx(factor * raw[each.operator].cpu_ns / 1e9, abs=1e-6)


def test_operators_that_were_not_called_are_named(tmp_path: Path):
    application, before, after = readings(tmp_path)
    late = [each for each in after.operators if each.name.startswith("Out")]
    assert late, "the sink is called when the epoch ends"
    quiet = replace(after, operators=tuple(each for each in after.operators if each not in late))
    profile = profile_of(application.compilation, before, quiet, known)
    assert {each.operator for each in profile.unmeasured} == {each.name for each in late}
    assert not {each.operator for each in profile.operators} & {each.name for each in late}


@pytest.mark.slow
@pytest.mark.parametrize(("options", "basis"), [({"fusion": "legacy"}, {"measured", "scaled"}), ({}, {"calibrated"})])
def test_the_basis_of_the_costs_of_sending_is_given(tmp_path: Path, options: dict[str, Any], basis: set[str]):
    application, before, after = readings(tmp_path, **options)
    transport = profile_of(application.compilation, before, after, known).transport
    assert transport is not None
    assert transport.basis in basis
    assert transport.send.of(1, 100) > 0
    assert transport.receive.of(1, 100) > 0
    assert (transport.streams > 0) == (transport.basis != "calibrated")


def test_a_time_without_tuples_is_refused(tmp_path: Path):
    application, _, after = readings(tmp_path)
    with pytest.raises(NotProfiledError, match=r"carried no tuples .* Measure for longer"):
        profile_of(application.compilation, after, after, known)


def test_an_application_that_does_not_run_is_not_measured(tmp_path: Path):
    application, _, _ = readings(tmp_path)
    with pytest.raises(NotProfiledError, match="is completed, so there is nothing to measure"):
        measure_application(application.catalog, application.name, 5, lambda _: False)


def test_an_application_is_measured_while_it_works_until_somebody_wants_to_stop(tmp_path: Path):
    application = LocalApplication(Home(tmp_path / "home"), totals(write_rows(tmp_path / "in.csv", COUNT)), 5)
    output: list[str] = []

    def pause(_seconds: float) -> bool:
        """Run the application while somebody waits; return True when nothing is left to do."""
        stepped = [application.step(program) for program in application.programs]
        return not any(stepped)

    actual = measure_application(application.catalog, application.name, 3600, pause, output.append)
    assert actual.remarks == ("it was ended early",)
    assert output[0].endswith("has just begun; waiting for its first batches ...")
    rows = next(each for each in actual.profile.streams if each.operator == "Rows")
    assert 0 < rows.tuples < 2 * COUNT


# ---- what sending costs ----


def passages(cost: PassageCost, sizes: list[tuple[float, float]]) -> list[Passage]:
    return [Passage(tuples, tuples * size, cost.of(tuples, tuples * size)) for tuples, size in sizes]


SIZES = st.lists(st.tuples(st.floats(1, 1e7), st.sampled_from([8.0, 16.0, 100.0, 4096.0])), min_size=2, max_size=6)


@given(COSTS, st.floats(0, 1e-8), SIZES)
def test_streams_of_several_sizes_show_both_parts(per_tuple: float, per_byte: float, sizes: list[tuple[float, float]]):
    cost = PassageCost(per_tuple, per_byte)
    actual = fit_passage_cost(passages(cost, sizes))
    if len({size for _, size in sizes}) == 1:
        assert actual is None
    else:
        assert actual is not None
        for size in (8.0, 1000.0, 4096.0):
            assert actual.of(1, size) == pytest.approx(cost.of(1, size), rel=1e-6, abs=1e-12)


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e4), st.floats(0, 1)), max_size=5))
def test_no_part_is_negative(measurements: list[tuple[float, float, float]]):
    cost = fit_passage_cost([Passage(tuples, tuples * size, seconds) for tuples, size, seconds in measurements])
    assert cost is None or (cost.per_tuple >= 0 and cost.per_byte >= 0)


@given(st.floats(0.1, 10), SIZES)
def test_a_known_shape_is_scaled_to_what_was_spent(factor: float, sizes: list[tuple[float, float]]):
    dear = PassageCost(SHAPE.per_tuple * factor, SHAPE.per_byte * factor)
    actual = scaled(passages(dear, sizes), SHAPE)
    assert actual is not None
    assert (actual.per_tuple, actual.per_byte) == pytest.approx((dear.per_tuple, dear.per_byte))
    assert scaled([], SHAPE) is None


def test_a_calibration_costs_something_and_leaves_nothing(tmp_path: Path):
    for cost in calibrate(Home(tmp_path).store, 1000):
        assert cost.of(1, 100) > 0
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_only_the_streams_of_a_spark_query_are_measured_and_the_reason_is_given():
    compilation = topology("query").compilation
    pe = PeMetrics(1, 0.0, 10.0, 3, 60, 12, 0, 0, 0, 0, 0, None)
    arrived, sent = PortMetrics(0, 60, 3, 600, 0), PortMetrics(0, 12, 3, 240, 0)
    query = OperatorMetrics("B", 1, 0, 0, (arrived,), (sent,), 0, 0, 0, (), None, None)
    before = ApplicationMetrics("app", "life", 0.0, measured=True)
    profile = profile_of(compilation, before, replace(before, at=10.0, pes=(pe,), operators=(query,)), known)
    assert [(each.operator, each.tuples, each.bytes) for each in profile.streams] == [("B", 12, 240)]
    reasons = {each.operator: each.reason for each in profile.unmeasured}
    assert reasons["B"].startswith("it is a Spark query, which")
    assert reasons["A"] == "it was not called in that time"
