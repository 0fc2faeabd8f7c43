"""Operators that put watermarks into what they submit do so where calls between watermarks would put them (EV49)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.model.standard import PLACES_BY_EVENT_TIME, PLACES_WATERMARKS
from streams_orchestration.operators.contract.function import operator
from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.calling import call_between
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.standard.conversion.format import Format
from streams_orchestration.operators.standard.flow.replayable_start import ReplayableStart
from streams_orchestration.operators.standard.flow.split import Split
from streams_orchestration.operators.standard.flow.threaded_split import ThreadedSplit
from streams_orchestration.operators.standard.flow.throttle import Throttle
from streams_orchestration.operators.standard.flow.union import Union
from streams_orchestration.operators.standard.joining.lookup import Lookup
from streams_orchestration.operators.standard.transformation.dynamic_filter import DynamicFilter
from streams_orchestration.operators.standard.transformation.filter import Filter
from streams_orchestration.operators.standard.transformation.functor import Functor
from streams_orchestration.operators.standard.transformation.punctor import Punctor
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermark, Watermarks

T = "n bigint"
WITH_ROW = "n bigint, row string"


@operator
def odd(batch: TupleBatch) -> TupleBatch:
    """Returns a part of its tuples."""
    return batch.filter(batch.column("n") % 2 == 1)


@operator(mutable=True)
def written(batch: TupleBatch) -> TupleBatch:
    """Returns its tuples, which it has written to."""
    batch.writable("n")[:] += 1
    return batch


@operator
def columns(batch: TupleBatch) -> dict[str, Any]:
    """Returns columns, of which nothing says where a watermark belongs."""
    return {"n": batch.column("n") + 1}


@operator
def halves(batch: TupleBatch) -> Iterator[TupleBatch]:
    """Gives two parts of its tuples."""
    yield batch.filter(batch.column("n") % 2 == 1)
    yield batch.filter(batch.column("n") % 2 == 0)


@operator
def twisted(batch: TupleBatch) -> TupleBatch:
    """Returns its tuples in another order."""
    return batch.take(np.arange(len(batch))[::-1])


@operator
def nothing(batch: TupleBatch) -> None:
    """Returns nothing."""
    del batch


TABLE = "numbers.csv"
CASES: dict[str, tuple[type[Operator], int, dict[str, Any]]] = {
    "filter": (Filter, 1, {"filter": "n % 3 = 0"}),
    "filter with a second port": (Filter, 2, {"filter": "n % 3 = 0"}),
    "filter that routes failures": (Filter, 3, {"filter": "10 DIV (n % 4) > 3", "onError": "route"}),
    "filter that skips failures": (Filter, 1, {"filter": "10 DIV (n % 4) > 3", "onError": "skip"}),
    "functor": (Functor, 1, {"filter": "n % 2 = 0", "output": {"n": "n * 2"}}),
    "functor with two ports": (Functor, 2, {"output": [{"n": "n * 2"}, {}]}),
    "functor that routes failures": (Functor, 2, {"output": {"n": "10 DIV (n % 4)"}, "onError": "route"}),
    "split": (Split, 3, {"index": "n"}),
    "split that routes failures": (Split, 3, {"index": "10 DIV (n % 4)", "onError": "route"}),
    "threaded split": (ThreadedSplit, 2, {}),
    "union": (Union, 1, {}),
    "replayable start": (ReplayableStart, 1, {}),
    "throttle": (Throttle, 1, {"rate": 1e12}),
    "lookup": (Lookup, 1, {"table": TABLE, "key": "n", "take": {"n": "other"}}),
    "lookup that drops what it does not find": (
        Lookup, 2, {"table": TABLE, "key": "n", "take": {"n": "other"}, "algorithm": "inner"},
    ),
    "punctor before": (Punctor, 1, {"punctuate": "n % 3 = 0", "position": "before"}),
    "punctor after": (Punctor, 1, {"punctuate": "n % 3 = 0", "position": "after"}),
    "punctor that routes failures": (
        Punctor, 2, {"punctuate": "10 DIV (n % 4) > 3", "position": "after", "onError": "route"},
    ),
    "dynamic filter": (DynamicFilter, 2, {"key": "n", "addKey": "n"}),
    "dynamic filter that routes failures": (
        DynamicFilter, 3, {"key": "10 DIV (n % 4)", "addKey": "n", "onError": "route"},
    ),
    "format": (Format, 1, {}),
    "format that skips failures": (Format, 1, {"output": {"n": "10 DIV (n % 4)"}, "onError": "skip"}),
    "function that filters": (odd, 1, {}),
    "function that writes": (written, 1, {}),
    "function that makes columns": (columns, 1, {}),
    "function that gives several parts": (halves, 1, {}),
    "function that sorts": (twisted, 1, {}),
    "function without results": (nothing, 1, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tables")
    (directory / TABLE).write_text(
        "".join(f"{n},{other}\n" for n, other in [("n", "other"), (1, 10), (2, 20), (6, 60)])
    )
    return directory


def shown(port: int, sent: list[tuple[int, Any]]) -> list[str]:
    items: list[str] = []
    for number, item in sent:
        if number != port:
            continue
        if isinstance(item, Watermarks):
            items += [f"w{value}" for _, value in item]
            continue
        if isinstance(item, Punctuation):
            items.append(item.value)
            continue
        rows = [str(row["n"]) for row in item.to_pylist()]
        done = 0
        for place, value in item.watermarks or ():
            items += [*rows[done:place], f"w{value}"]
            done = place
        items += rows[done:]
    return items


@pytest.mark.parametrize("case", CASES)
@given(st.lists(st.integers(0, 40), max_size=20), st.lists(st.integers(0, 20), max_size=6))
def test_placed_watermarks_are_where_calls_between_watermarks_put_them(
    base: Path, case: str, numbers: list[int], cuts: list[int]
):
    kind, ports, parameters = CASES[case]
    steps = Watermarks.of(*((place, i) for i, place in enumerate(sorted(cut % (len(numbers) + 1) for cut in cuts))))

    def harness_of() -> OperatorHarness:
        inputs = [T] * (2 if kind is DynamicFilter else 1)
        outputs = [WITH_ROW if kind is Format else T] * ports
        harness = OperatorHarness(kind, inputs, outputs, parameters=parameters, base=base, event_time="n")
        if kind is DynamicFilter:
            harness.operator.process(1, TupleBatch.from_columns({"n": [0, 2, 3, 5, 10]}, harness.context.inputs[1]))
            harness.idle(1)
            harness.sent.clear()
        return harness

    def batch(harness: OperatorHarness) -> TupleBatch:
        return TupleBatch.from_columns({"n": numbers}, harness.context.inputs[0]).with_watermarks(steps)

    placed = harness_of()
    placed.send(batch(placed))
    carried = Counter[int]()
    for port, item in placed.sent:
        carried[port] += len(getattr(item, "watermarks", None) or ())
    placed_items = [(port, item) for port, item in placed.sent] + [(p, steps.rest(carried[p])) for p in range(ports)]
    called = harness_of()
    sent: list[tuple[int, Any]] = called.sent  # pyright: ignore[reportAssignmentType]
    call_between(
        batch(called),
        lambda part: called.operator.process(0, part),
        lambda reached: sent.extend((port, reached) for port in range(ports)),
    )
    for port in range(ports):
        assert shown(port, placed_items) == shown(port, sent)


@pytest.mark.parametrize(("function", "whole"), [(odd, True), (written, True), (nothing, True), (columns, False)])
def test_a_function_is_called_between_watermarks_only_if_it_makes_new_batches(function: type[Operator], whole: bool):
    harness = OperatorHarness(function, [T], [T], event_time="n")
    harness.send([(1,), Watermark(1), (2,), Watermark(2)])
    assert harness.operator.keeps_places == whole


TIMED: dict[str, tuple[list[str], list[str], dict[str, Any]]] = {
    "Aggregate": (
        ["at bigint"],
        ["n bigint"],
        {"window": "timeInterval, intervalDuration(1)", "output": {"n": "Count()"}},
    ),
    "Delay": (["at bigint"], ["at bigint"], {"by": "watermark", "delay": 1.0}),
    "FileSink": (
        ["at bigint, day int"],
        [],
        {"file": "out", "partitionBy": ["day"], "closeMode": "watermark", "completeAfter": "day * 10L"},
    ),
    "Join": (["at bigint", "at bigint"], ["at bigint"], {"within": [-1.0, 1.0], "output": {"at": "lhs_at"}}),
    "Sort": (["at bigint"], ["at bigint"], {"window": "eventTime"}),
}
"""Input schemas, output schemas, and parameters by which an operator needs event time."""


def class_of(name: str) -> type[Operator]:
    module, _, found = STANDARD[name].partition(":")
    return getattr(import_module(module), found)


def test_the_compiler_knows_which_standard_operators_take_batches_whole():
    assert {name for name in STANDARD if class_of(name).keeps_places} == PLACES_WATERMARKS


def test_the_compiler_knows_which_standard_operators_do_so_by_event_time():
    setting = {name for name in STANDARD if "self.keeps_places = True" in getsource(class_of(name))}
    assert setting == PLACES_BY_EVENT_TIME == TIMED.keys()


@pytest.mark.parametrize("name", TIMED)
def test_an_operator_that_needs_event_time_takes_batches_whole(name: str):
    inputs, outputs, parameters = TIMED[name]
    harness = OperatorHarness(class_of(name), inputs, outputs, parameters=parameters, event_time="at")
    assert harness.operator.keeps_places


ALSO_TIMED = {
    "DeDuplicate": (["at bigint"], ["at bigint"], {"key": "at", "within": 1.0}),
    "Sort": (["at bigint"], ["at bigint"], {"window": "timeInterval, intervalDuration(1)", "sortBy": ["at"]}),
}
"""As `TIMED`, for operators and parameters with which batches are not taken whole, or are so without event time."""


@pytest.mark.parametrize(
    ("name", "case"),
    [*((name, case) for name, case in TIMED.items() if name != "FileSink"), *ALSO_TIMED.items()],
)
def test_streams_without_event_time_and_tuples_without_a_time_are_refused(name: str, case: tuple[Any, Any, Any]):
    inputs, outputs, parameters = case
    with pytest.raises(ValueError, match="needs event time"):
        OperatorHarness(class_of(name), inputs, outputs, parameters=parameters)
    harness = OperatorHarness(class_of(name), inputs, outputs, parameters=parameters, event_time="at")
    with pytest.raises(DataError, match=r"event time at .* is null"):
        harness.send([(None,)])
