"""Spark queries in event-time graphs: what they take and give, as the compiler sees it."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.event_time.roles import roles_by_operator
from streams_orchestration.compiler.explain.questions import explain
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.compiler.event_time.annotated import AT, SCHEMAS, compiled, sink, sound, source

DT = {"eventTimeAttribute": "dt"}
GRAPH = {"watermarks": {"A": "eventTime"}}


def query(*inputs: str, **parameters: Any) -> dict[str, Any]:
    return {
        "name": "Q",
        "operator": "Sql",
        "inputs": [*inputs],
        "outputs": [{"stream": "Q", "schema": "T"}],
        "parameters": {"query": "SELECT * FROM A", **parameters},
    }


def panes(stream: str) -> dict[str, Any]:
    return {
        "name": "G",
        "operator": "Aggregate",
        "inputs": [stream],
        "outputs": [{"stream": "G", "schema": "n bigint"}],
        "parameters": {"window": "timeInterval, intervalDuration(5.0)", "output": {"n": "Count()"}},
    }


def faults(*nodes: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the errors of an application, and of its operators if the stages find none."""
    try:
        done = compiled({"schemas": SCHEMAS, "graph": [*nodes]})
    except ApplicationError as error:
        return [(each.code, each.message) for each in error.diagnostics if each.severity == "error"]
    found = check_operators(done.progress)
    return [
        (each.code, each.message) for each in found if each.severity == "error" and "no such file" not in each.message
    ]


def test_a_query_takes_the_watermark_of_its_input_and_gives_one():
    done = sound({"graph": [source("A", DT), query("A", **GRAPH, outputDelay=60), panes("Q"), sink("K", "G")]})
    assert not faults(source("A", DT), query("A", **GRAPH), panes("Q"), sink("K", "G"))
    (found,) = (each for each in done.event_time.operators if done.physical.operators[each.operator].name == "Q")
    assert (found.mode, len(found.connections), found.outputs) == ("inputWatermark", 1, (0,))
    text = " ".join(fact.text for section in explain(done, "Q").sections for fact in section.facts)
    assert "the tuples of A wait until the watermark has passed them" in text
    assert "its results may be 60 s older than the watermark" in text


@pytest.mark.parametrize(
    ("nodes", "code", "message"),
    [
        ([source("A"), query("A", **GRAPH), sink("K", "Q")], "SO0806", "needs event time, but none arrives"),
        ([source("A", DT), query("A", **GRAPH) | {"annotations": {"eventTime": DT}}, sink("K", "Q")], "SO0806",
         "Q is annotated itself"),
        ([source("A", DT), source("B"), query("A", "B", watermarks={"B": "eventTime"}), sink("K", "Q")], "SO0806",
         "none arrives at input port 1"),
        ([source("A"), query("A", outputDelay=5), sink("K", "Q")], "SO0806", "outputDelay needs event time"),
        ([source("A", DT), query("A", outputDelay=0.0000001), sink("K", "Q")], "SO0801", "outputDelay"),
        ([source("A", DT), query("A", outputDelay=-1), sink("K", "Q")], "SO5003", "outputDelay is at least 0"),
        ([source("A", AT), query("A", **GRAPH), sink("K", "Q")], "SO5004",
         "the event time at of A is bigint, and Spark's event time is a timestamp"),
        ([source("A", DT), query("A", watermarks={"A": "processingTime"}), sink("K", "Q")], "SO5003",
         "watermarks.A is eventTime, not 'processingTime'"),
    ],
)  # fmt: skip
def test_event_time_that_a_query_cannot_take_is_refused(nodes: list[dict[str, Any]], code: str, message: str):
    found = faults(*nodes)
    assert [each for each, text in found if message in text] == [code], found


def test_a_time_within_an_attribute_is_refused():
    schemas = {"N": "k string, when struct<dt: timestamp>"}
    nested = source("A", {"eventTimeAttribute": "when.dt"}, "N")
    of_nested = query("A", **GRAPH) | {"outputs": [{"stream": "Q", "schema": "N"}]}
    found = check_operators(compiled({"schemas": schemas, "graph": [nested, of_nested, sink("K", "Q")]}).progress)
    (message,) = (each.message for each in found if "no such file" not in each.message)
    assert "is a field of when, and Spark needs an attribute of the tuple itself" in message


TOGETHER = {"partitionColocation": "together"}


@pytest.mark.parametrize(
    ("place", "watermark", "codes"),
    [
        (TOGETHER, "eventTime", ["SO5010"]),
        (TOGETHER, {"attribute": "dt", "delay": "1 minute"}, ["SO5010"]),
        (TOGETHER, None, []),
        ({"partitionIsolation": True}, "eventTime", []),
    ],
)
def test_only_the_first_of_composed_queries_has_watermarks(place: dict[str, Any], watermark: Any, codes: list[str]):
    first = query("A", **GRAPH) | {"config": {"placement": TOGETHER}}
    second = query("Q") | {"name": "R", "outputs": [{"stream": "R", "schema": "T"}], "config": {"placement": place}}
    second["parameters"] = {"query": "SELECT * FROM Q"} | (
        {} if watermark is None else {"watermarks": {"Q": watermark}}
    )
    found = faults(source("A", DT), first, second, sink("K", "R"))
    assert [code for code, _ in found] == codes
    assert all("Q comes from an operator of the same query" in message for _, message in found)


@pytest.mark.parametrize(
    ("behind", "awaited"),
    [
        ([sink("K", "Q")], False),
        ([panes("Q"), sink("K", "G")], True),
        ([sink("K", "Q") | {"config": {"completeWithin": 60}}], True),
    ],
)
def test_a_query_knows_if_its_watermarks_are_used(behind: list[dict[str, Any]], awaited: bool):
    done = sound({"graph": [source("A", DT), query("A"), *behind]})
    roles = roles_by_operator(done.event_time, done.physical, done.logical)
    assert [done.logical.operators[number].name for number, role in roles.items() if role.awaited] == ["Q"] * awaited


def test_watermarks_at_every_tuple_do_not_divide_the_batches_of_a_query():
    note = {**DT, "minimumGap": 0}
    done = sound({"graph": [source("A", note), query("A", **GRAPH), sink("K", "Q")]})
    assert "SO0808" not in {each.code for each in done.diagnostics}
