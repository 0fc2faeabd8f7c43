"""`onError`: tuples that an expression has no value for stop the application, are skipped, or go to a port."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.standard import STANDARD as SIGNATURES
from streams_orchestration.operators import standard
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions import evaluated_batch as evaluated_module
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.evaluation import (
    Expression,
    parse_condition,
    parse_expression,
    read_expression,
)
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.inputs import failed_tuples
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench, Row, division
from streams_orchestration_tests.specs import logical, read

TUPLE = "x bigint, n bigint"
FAILED = "n bigint, reason string"
FAILS = "100 DIV n"
"""Has no value for tuples whose `n` is 0."""


READERS = {read_expression.__name__, parse_expression.__name__, parse_condition.__name__, Assignments.__name__}
"""The functions and the class that read the text of an expression."""
WITHOUT = {"Beacon", "CharacterTransform", "Compress", "Decompress", "FileSink", "Parse", "XMLParse"}
"""Operators with expressions that have no such parameter.

A Beacon has no input, the expression of a FileSink is over the names of directories, a Parse, Compress, Decompress
or CharacterTransform stops at a tuple whose bytes cannot be computed, and `parsing` of an XMLParse decides about
elements."""


@dataclass(frozen=True)
class Case:
    """An operator that evaluates `FAILS`.

    Attributes:
        parameters: of the operator.
        output: the attributes of every output; None for those of the input.
        outputs: the number of output ports without the one for failed tuples.
        inputs: the number of input ports.
        failing: the input ports whose tuples fail; none where those of several ports fail together.
        failed: the attributes of the port for failed tuples.
    """

    parameters: dict[str, Any]
    output: str | None = None
    outputs: int = 1
    inputs: int = 1
    failing: Sequence[int] = (0,)
    failed: str = FAILED


SUM = {"s": f"Sum({FAILS})"}
CASES: dict[str, list[Case]] = {
    "Aggregate": [
        Case({"window": "tumbling, count(2)", "output": SUM}, "s bigint"),
        Case({"window": "tumbling, count(2)", "output": {"s": f"First({FAILS})"}}, "s bigint"),
        Case({"window": "sliding, count(2), count(1)", "output": SUM}, "s bigint"),
    ],
    "Barrier": [
        Case({"output": {"n": "100 DIV in0_n"}}, "n bigint", inputs=2, failing=(), failed="in0_n bigint, reason string")
    ],
    "DeDuplicate": [Case({"key": ["x", FAILS]}), Case({"key": FAILS}, outputs=2)],
    "DynamicFilter": [Case({"key": FAILS, "addKey": FAILS}, outputs=2, inputs=2, failing=(0, 1))],
    "Filter": [Case({"filter": f"{FAILS} > 10"}), Case({"filter": f"{FAILS} > 10"}, outputs=2)],
    "Format": [Case({"format": "csv", "output": {"n": FAILS, "row": "Output()"}}, "n bigint, row string")],
    "Functor": [
        Case({"output": {"n": FAILS}}),
        Case({"filter": "x > 1", "output": {"n": FAILS}}),
        Case({"filter": f"{FAILS} > 10", "output": [{}, {"n": FAILS}]}, outputs=2),
    ],
    "Gate": [Case({"maxUnackedTupleCount": 2, "numTuplesToAck": f"abs({FAILS})"}, inputs=2, failing=(1,))],
    "Join": [
        Case(
            {"window": "sliding, count(2)", "match": "100 DIV lhs_n = 100 DIV rhs_n", "output": {"n": "lhs_n"}},
            "n bigint",
            inputs=2,
            failing=(),
            failed="lhs_n bigint, rhs_n bigint, reason string",
        )
    ],
    "MetricsSink": [Case({"metrics": FAILS, "names": "share"}, outputs=0)],
    "Punctor": [Case({"punctuate": f"{FAILS} > 10", "position": "after", "output": {"n": FAILS}})],
    "Sort": [
        Case({"window": "tumbling, count(2)", "sortBy": [FAILS]}),
        Case({"window": "sliding, count(2)", "sortBy": [FAILS]}),
    ],
    "Split": [Case({"index": f"abs({FAILS})"}, outputs=2)],
    "Switch": [Case({"status": f"{FAILS} > 10"}, inputs=2, failing=(1,))],
}
EACH = [
    pytest.param(name, case, id=f"{name}-{number}")
    for name, cases in CASES.items()
    for number, case in enumerate(cases)
]
Event = tuple[int, Row]


def bench(name: str, case: Case, action: str, failed: str | None = None) -> Bench:
    outputs = [case.output] * case.outputs + ([failed or case.failed] if action == "route" else [])
    return Bench(import_operator(STANDARD[name]), [TUPLE] * case.inputs, outputs, onError=action, **case.parameters)


def sent(bench: Bench, case: Case, events: Sequence[Event], cuts: Sequence[int] = ()) -> list[list[Any]]:
    """Return all that comes to each port, from events in batches."""
    for part in division(events, cuts):
        for port, run in itertools.groupby(part, key=lambda event: event[0]):
            bench.send([row for _, row in run], port)
    bench.end()
    return [bench.items(port) for port in range(len(bench.context.outputs))]


def rows() -> st.SearchStrategy[Row]:
    return st.tuples(st.integers(0, 3), st.integers(-3, 3))


@st.composite
def tuples_of(draw: st.DrawFn, case: Case) -> list[Event]:
    return draw(st.lists(st.tuples(st.integers(0, case.inputs - 1), rows()), max_size=60))


def modules_of(module: ModuleType) -> set[ModuleType]:
    """Return a module of a standard operator and the modules beside it that it imports."""
    found, left = set[ModuleType](), [module]
    while left:
        found.add(current := left.pop())
        names = {each.__module__ for each in vars(current).values() if isinstance(each, type | FunctionType)}
        left += [
            beside
            for name in names
            if name.startswith(f"{standard.__name__}.") and (beside := sys.modules[name]) not in found
        ]
    return found


def reads_expressions(kind: type[Operator]) -> bool:
    """Return True if the code of an operator reads the text of an expression."""
    trees = (ast.parse(inspect.getsource(module)) for module in modules_of(sys.modules[kind.__module__]))
    calls = (node.func for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id in READERS for called in calls)


def test_every_operator_with_expressions_has_the_parameter_and_the_port():
    kinds = {name: import_operator(STANDARD[name]) for name in STANDARD}
    with_parameter = {name for name, kind in kinds.items() if issubclass(kind.Parameters, ExpressionParameters)}
    assert with_parameter == set(CASES) == {name for name, each in SIGNATURES.items() if each.routes_failures}
    assert {name for name, kind in kinds.items() if reads_expressions(kind)} == with_parameter | WITHOUT


def test_the_page_names_the_operators_with_expressions_that_do_without():
    page = (Path(__file__).parents[3] / "docs" / "expressions.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"of every operator with expressions(.*?) decides how", page, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", sentence)) == WITHOUT


@pytest.mark.parametrize(("name", "case"), EACH)
@examples(25)
@given(data=st.data())
def test_a_skipped_tuple_has_no_other_effect(name: str, case: Case, data: st.DataObject):
    events = data.draw(tuples_of(case))
    sound = [(port, row) for port, row in events if row[1] != 0 or port not in case.failing]
    if not case.failing:
        sound = events = [(port, row) for port, row in events if row[1]]
    skipping, plain = bench(name, case, "skip"), bench(name, case, "fail")
    assert sent(skipping, case, events) == sent(plain, case, sound)
    dropped = skipping.metrics.get("dropped", 0) - plain.metrics.get("dropped", 0)
    assert dropped <= len(events) - len(sound)


@pytest.mark.parametrize(("name", "case"), EACH)
@examples(25)
@given(data=st.data())
def test_routed_tuples_depend_on_no_batches(name: str, case: Case, data: st.DataObject):
    events = data.draw(tuples_of(case))
    cuts = data.draw(st.lists(st.integers(0, 100), max_size=4))
    whole, parts = (sent(bench(name, case, "route"), case, events, each) for each in ((), cuts))
    assert whole == parts
    assert whole[:-1] == sent(bench(name, case, "skip"), case, events)
    assert all("division by zero" in row[-1] for row in whole[-1])


@pytest.mark.parametrize(("name", "case"), EACH)
def test_the_operator_fails_with_onerror_fail(name: str, case: Case):
    port = case.failing[0] if case.failing else 0
    operator = bench(name, case, "fail")
    with pytest.raises(DataError, match="division by zero; the tuple has"):
        for each in range(case.inputs):
            operator.send([(2, 1), (2, 0), (2, 0)], each if case.failing == () else port)
        operator.end()


def test_a_routed_tuple_has_its_reason_and_its_place_among_the_others():
    filtering = bench("Filter", CASES["Filter"][0], "route", "reason string, x bigint, n bigint")
    filtering.send([(1, 1), (2, 0), (3, 2), (4, 0)])
    reason = "filter: '100 DIV n > 10': division by zero"
    assert filtering.rows(1) == [(reason, 2, 0), (reason, 4, 0)]


def test_many_failed_tuples_of_a_batch_are_found():
    filtering = bench("Filter", CASES["Filter"][0], "route", "x bigint")
    filtering.send([(i, i % 3) for i in range(1000)])
    assert [row[0] for row in filtering.rows(1)] == [i for i in range(1000) if i % 3 == 0]
    assert len(filtering.rows(0)) == 666


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([TUPLE], "needs one more output port"),
        ([TUPLE, "x string"], "it has x string"),
        ([TUPLE, "other bigint"], "it has other bigint"),
        ([TUPLE, "reason bigint"], "it has reason bigint"),
    ],
)
def test_a_port_that_does_not_fit_is_refused(outputs: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        Bench(import_operator(STANDARD["Filter"]), [TUPLE], outputs, filter="n > 0", onError="route")


SPEC = """
specVersion: 1
application: Shares
graph:
  - {operator: Beacon, name: Numbers, outputs: [{stream: Numbers, schema: "n bigint"}], parameters: {iterations: 1}}
  - operator: Filter
    name: Share
    inputs: [Numbers]
    parameters: {filter: "100 DIV n > 30", onError: ACTION}
    outputs: [{stream: Large}, {stream: Small}, {stream: Failed, schema: "n bigint, reason string"}]
  - {operator: FileSink, name: Out, inputs: [[Large, Small]], parameters: {file: out.csv}}
  - {operator: FileSink, name: Bad, inputs: [Failed], parameters: {file: bad.csv}}
"""


def test_the_compiler_knows_the_port():
    with pytest.raises(ApplicationError, match="Filter has 1 to 2 output ports, but 3 are given"):
        read(SPEC.replace("ACTION", "skip"))
    graph, _ = logical(read(SPEC.replace("ACTION", "route")))
    ports = graph.operators[1].outputs
    assert [port.preserves_window_punctuation for port in ports] == [True, True, False]


NOT_NULL = "n bigint NOT NULL"
NULL = "it is null, but the attribute is NOT NULL; coalesce gives it a value, or leave out NOT NULL"
REQUIRED = [
    ("Barrier", {"output": {"n": "nullif(in0_n, 0)"}}, 2),
    ("Functor", {"output": {"n": "nullif(n, 0)"}}, 1),
    ("Functor", {"filter": "x < 3", "output": {"n": "nullif(n, 0)"}}, 1),
    ("Punctor", {"punctuate": "false", "position": "after", "output": {"n": "nullif(n, 0)"}}, 1),
    ("Join", {"window": "sliding, count(1)", "match": "true", "output": {"n": "nullif(lhs_n, 0)"}}, 2),
]


@pytest.mark.parametrize(("name", "parameters", "inputs"), REQUIRED)
def test_a_null_for_an_attribute_that_is_not_null_fails_like_any_other_value(
    name: str, parameters: dict[str, Any], inputs: int
):
    failed = "reason string" if inputs == 1 else f"reason string, {'in1_n' if name == 'Barrier' else 'rhs_n'} bigint"
    case = Case(parameters, NOT_NULL, inputs=inputs)
    rows, events = [(1, 1), (2, 0), (2, 2)], list[Event]()
    for row in rows:
        events += [(0, row)] + ([(1, (0, 7))] if inputs == 2 else [])
    with pytest.raises(DataError, match=f"output.n: 'nullif.*{NULL}; the tuple has .*n = 0"):
        sent(bench(name, case, "fail"), case, events)
    reason = f"output.n: {parameters['output']['n']!r}: {NULL}"
    for action in ("skip", "route"):
        operator = bench(name, case, action, failed)
        sent(operator, case, events)
        assert {n for (n,) in operator.rows()} == {1, 2}
    assert set(operator.rows(1)) == {(reason,) if inputs == 1 else (reason, 7)}


def test_a_barrier_leaves_out_all_tuples_of_a_set_that_fails():
    case = Case({"partitionBy": ["x"], "output": {"x": "in0_x", "n": "in0_n DIV in1_n"}}, TUPLE, inputs=2, failing=())
    barrier = bench("Barrier", case, "route", "in0_x bigint, in0_n bigint, in1_n bigint, reason string")
    barrier.send([(1, 8), (2, 9), (1, 10)], 0)
    barrier.send([(2, 3), (1, 0), (1, 5)], 1)
    assert barrier.rows() == [(2, 3), (1, 2)]
    assert barrier.rows(1) == [(1, 8, 0, "output.n: 'in0_n DIV in1_n': division by zero")]


def test_another_treatment_of_failed_sets_keeps_the_tuples_that_wait():
    kind = import_operator(STANDARD["Barrier"])
    before, after = (
        kind.Parameters.model_validate({"output": {"n": text}, "onError": action})
        for text, action in (("in0_n", "fail"), ("in1_n", "skip"))
    )
    assert kind.keeps_state(before, after)


def test_a_format_writes_no_row_for_a_failed_tuple():
    case = Case({"format": "csv", "output": {"n": FAILS, "row": "Output()"}}, "n bigint NOT NULL, row string NOT NULL")
    formatting = bench("Format", case, "route")
    formatting.send([(1, 50), (2, 0), (3, None), (4, 25)])
    assert formatting.rows() == [(2, "1,50\n"), (4, "4,25\n")]
    assert formatting.rows(1) == [
        (0, f"output.n: {FAILS!r}: division by zero"),
        (None, f"output.n: {FAILS!r}: {NULL}"),
    ]


def test_a_tuple_that_no_row_can_hold_fails_as_one_without_a_value():
    parameters = {"format": "csv", "output": {"n": "1 DIV n", "row": "Output()"}}
    days = pa.array([0, None, 2932897, 1], pa.int32()).cast(pa.date32())  # the third one is in the year 10000
    events = pa.record_batch({"day": days, "n": [1, 0, 1, 1]})

    def formatting(action: str, *outputs: str) -> Bench:
        kind, ports = import_operator(STANDARD["Format"]), ["n bigint, row string", *outputs]
        return Bench(kind, ["day date, n bigint"], ports, onError=action, **parameters)

    routed = formatting("route", "n bigint, reason string")
    routed.operator.process(0, TupleBatch(events))
    assert [row for _, row in routed.rows()] == ["1970-01-01,1\n", "1970-01-02,1\n"]
    unwritten = "output.row: day: a date beyond the years 1 to 9999 cannot be written as text"
    assert routed.rows(1) == [(0, "output.n: '1 DIV n': division by zero"), (1, unwritten)]
    with pytest.raises(DataError, match="beyond the years"):
        formatting("fail").operator.process(0, TupleBatch(events.slice(2)))


def test_an_attribute_that_is_taken_over_may_be_null_where_it_is_not_null():
    functor = bench("Functor", Case({}, "x bigint, n bigint NOT NULL"), "route", "x bigint, reason string")
    functor.send([(1, 1), (2, None)])
    assert functor.rows() == [(1, 1)]
    assert functor.rows(1) == [(2, f"output.n: '`n`': {NULL}")]


def test_a_sort_sets_tuples_aside_whose_attributes_do_not_fit_the_output():
    case = Case({"window": "tumbling, punct()", "sortBy": ["x"]}, "x bigint, n tinyint")
    sort = bench("Sort", case, "route", "n bigint, reason string")
    sort.send([(2, 1), (3, 300), (1, 2)]).end()
    assert sort.rows() == [(1, 2), (2, 1)]
    assert sort.rows(1) == [(300, "output.n: '`n`': 300 is beyond the range of tinyint")]


def test_an_expression_that_may_fail_is_evaluated_once(monkeypatch: pytest.MonkeyPatch):
    functor = bench("Functor", Case({"filter": "100 DIV n > 0", "output": {"n": FAILS}}, "n bigint"), "route")
    evaluated: list[str] = []
    evaluate = failed_tuples.evaluate_possible

    def noted(expression: Expression, rows: Any) -> Any:
        evaluated.append(expression.text)
        return evaluate(expression, rows)

    monkeypatch.setattr(failed_tuples, "evaluate_possible", noted)
    monkeypatch.setattr(evaluated_module, "evaluate", lambda expression, _: pytest.fail(expression.text))
    functor.send([(1, 1), (2, 2)])
    assert evaluated == ["100 DIV n > 0", FAILS]
    assert functor.rows() == [(100,), (50,)]


def test_an_application_goes_on_behind_failed_tuples():
    document = yaml.safe_load(SPEC.replace("ACTION", "route"))
    tables = run_in_process(document, {"Numbers": [{"n": n} for n in (1, 0, 5, 0)]})
    assert sorted(tables["Out"]["n"].to_pylist()) == [1, 5]
    assert tables["Bad"].to_pylist() == [{"n": 0, "reason": "filter: '100 DIV n > 30': division by zero"}] * 2
