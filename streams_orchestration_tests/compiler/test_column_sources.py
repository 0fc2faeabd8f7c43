"""The attributes from which operators make those of their outputs, by the types of the expressions."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.column_influences import column_influences
from streams_orchestration.compiler.column_sources import column_sources, expression_types, port_of

READING = "sensor string, value double, date date, place struct<city: string, value: int>, codes array<int>"
OTHER = "sensor string, name string"
CASES: list[tuple[str, dict[str, Any], list[str], dict[str, set[tuple[int, str]]]]] = [
    ("Filter", {"filter": "value > 1"}, [READING], {"sensor": {(0, "sensor")}}),
    ("Split", {"index": "length(sensor)"}, [READING], {"value": {(0, "value")}}),
    ("Sort", {"sortBy": ["value"]}, [READING], {"sensor": {(0, "sensor")}}),
    ("DeDuplicate", {"key": "upper(sensor)"}, [READING], {"sensor": {(0, "sensor")}, "value": {(0, "value")}}),
    ("Switch", {"status": "name = 'a'"}, [READING, OTHER], {"sensor": {(0, "sensor")}}),
    ("Gate", {}, [READING, OTHER], {"sensor": {(0, "sensor")}}),
    ("DynamicFilter", {"key": "sensor", "addKey": "name"}, [READING, OTHER], {"sensor": {(0, "sensor")}}),
    ("Union", {}, [OTHER, OTHER], {"name": {(0, "name"), (1, "name")}}),
    ("Merge", {"orderBy": "sensor"}, [OTHER, OTHER], {"name": {(0, "name"), (1, "name")}}),
    ("Pair", {}, [OTHER, OTHER], {"sensor": {(0, "sensor"), (1, "sensor")}}),
    ("Lookup", {"key": "sensor", "take": {"owner": "name"}}, [READING], {"value": {(0, "value")}, "owner": set()}),
    ("Functor", {"output": {"up": "upper(sensor)"}}, [READING], {"up": {(0, "sensor")}, "value": {(0, "value")}}),
    ("Functor", {"output": [{}, {"up": "value + 1"}]}, [READING], {"up": set()}),
    ("Functor", {"output": {"up": "VALUE + 1"}}, [READING], {"up": {(0, "value")}}),
    ("Functor", {"output": {"up": 'concat("value", \'sensor\')'}}, [READING], {"up": set()}),
    ("Functor", {"output": {"up": "place.value"}}, [READING], {"up": {(0, "place")}}),
    ("Functor", {"output": {"up": "CAST(sensor AS date)"}}, [READING], {"up": {(0, "sensor")}}),
    ("Functor", {"output": {"up": "date + INTERVAL 1 DAY"}}, [READING], {"up": {(0, "date")}}),
    ("Functor", {"output": {"up": "codes[0] -- sensor"}}, [READING], {"up": {(0, "codes")}}),
    ("Functor", {"output": {"up": "if(value > 1, sensor, '')"}}, [READING], {"up": {(0, "value"), (0, "sensor")}}),
    ("Functor", {"output": {"up": "value >"}}, [READING], {"up": set()}),
    ("Punctor", {"punctuate": "value > 1", "output": {"up": "sensor"}}, [READING], {"up": {(0, "sensor")}}),
    (
        "Aggregate",
        {"groupBy": ["sensor"], "output": {"n": "Count()", "best": "ArgMax(date, value)", "up": "Average(value > 15)"}},
        [READING],
        {"sensor": {(0, "sensor")}, "n": set(), "best": {(0, "date"), (0, "value")}, "up": {(0, "value")}},
    ),
    ("Aggregate", {"output": {"all": "CollectList(sensor, 5)"}}, [READING], {"all": {(0, "sensor")}}),
    (
        "Join",
        {"match": "value > 1", "output": {"both": "concat(lhs_sensor, rhs_sensor)"}},
        [READING, OTHER],
        {"both": {(0, "sensor"), (1, "sensor")}, "value": {(0, "value")}, "name": {(1, "name")}},
    ),
    (
        "Barrier",
        {"output": {"both": "concat(in0_sensor, in2_sensor, value)"}},
        [OTHER, READING, OTHER],
        {"both": {(0, "sensor"), (2, "sensor"), (1, "value")}, "in1_sensor": {(1, "sensor")}},
    ),
    ("Custom", {"function": "m:f"}, [READING], {"sensor": set()}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters", "ports", "right"), CASES)
def test_an_attribute_is_made_from_those_that_its_expression_uses(
    kind: str, parameters: dict[str, Any], ports: list[str], right: dict[str, set[tuple[int, str]]]
):
    found = column_sources(kind, parameters, list(map(port_of, ports)), list(right))
    assert {column: set(uses) for column, uses in found.items()} == right


def test_an_output_port_has_expressions_of_its_own():
    clauses = {"output": [{"up": "sensor"}, {"up": "value"}]}
    found = [column_sources("Functor", clauses, [port_of(READING)], ["up"], port) for port in (0, 1)]
    assert [set(each["up"]) for each in found] == [{(0, "sensor")}, {(0, "value")}]


INFLUENCES: list[tuple[str, dict[str, Any], list[str], dict[tuple[int, str], str]]] = [
    ("Filter", {"filter": "VALUE > 1 AND place.city = 'sensor'"}, [READING],
     {(0, "value"): "FILTER", (0, "place"): "FILTER"}),
    ("Filter", {"filter": "value >"}, [READING], {}),
    ("Filter", {}, [READING], {}),
    ("Functor", {"filter": "value > 1", "output": {"up": "upper(sensor)"}}, [READING], {(0, "value"): "FILTER"}),
    ("Split", {"index": ["length(sensor)", 1]}, [READING], {(0, "sensor"): "FILTER"}),
    ("DeDuplicate", {"key": ["sensor"], "deltaAttribute": "value"}, [READING],
     {(0, "sensor"): "FILTER", (0, "value"): "FILTER"}),
    ("DynamicFilter", {"key": "sensor", "addKey": "name", "removeKey": "sensor"}, [READING, OTHER, OTHER],
     {(0, "sensor"): "FILTER", (1, "name"): "FILTER", (2, "sensor"): "FILTER"}),
    ("Sort", {"window": "tumbling, delta(value, 1), partitioned", "partitionBy": ["sensor"], "sortBy": ["date"]},
     [READING], {(0, "date"): "SORT", (0, "sensor"): "WINDOW", (0, "value"): "WINDOW"}),
    ("Aggregate", {"window": "sliding, count(2), delta(value, 1)", "groupBy": ["sensor"], "partitionBy": ["date"]},
     [READING], {(0, "sensor"): "GROUP_BY", (0, "date"): "GROUP_BY", (0, "value"): "WINDOW"}),
    ("Join", {"window": ["sliding, delta(value, 1)", "sliding, count(1)"], "match": "rhs_sensor = name"},
     [READING, OTHER], {(1, "sensor"): "JOIN", (1, "name"): "JOIN", (0, "value"): "WINDOW"}),
    ("Lookup", {"key": "sensor", "take": {"owner": "name"}}, [READING], {(0, "sensor"): "JOIN"}),
    ("Lookup", {"key": ["a"], "attribute": ["sensor"], "take": {}}, [READING], {(0, "sensor"): "JOIN"}),
    ("Merge", {"orderBy": "sensor"}, [OTHER, OTHER], {(0, "sensor"): "SORT", (1, "sensor"): "SORT"}),
    ("Merge", {"orderBy": ["sensor", "name"]}, [OTHER, OTHER], {(0, "sensor"): "SORT", (1, "name"): "SORT"}),
    ("Pair", {"partitionBy": ["sensor"]}, [OTHER, OTHER], {(0, "sensor"): "JOIN", (1, "sensor"): "JOIN"}),
    ("Barrier", {"partitionBy": [["sensor"], ["name"]]}, [OTHER, OTHER], {(0, "sensor"): "JOIN", (1, "name"): "JOIN"}),
    ("Gate", {"numTuplesToAck": "value"}, [READING, READING], {}),
    ("Custom", {"function": "m:f"}, [READING], {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters", "ports", "right"), INFLUENCES)
def test_conditions_and_keys_decide_which_tuples_there_are(
    kind: str, parameters: dict[str, Any], ports: list[str], right: dict[tuple[int, str], str]
):
    found = column_influences(kind, parameters, list(map(port_of, ports)))
    assert {pair: [tuple(each) for each in ways] for pair, ways in found.items()} == {
        pair: [("INDIRECT", subtype)] for pair, subtype in right.items()
    }


WAYS = {
    "value": {"value": "DIRECT IDENTITY"},
    "value + 1": {"value": "DIRECT TRANSFORMATION"},
    "CAST(value AS string)": {"value": "DIRECT TRANSFORMATION"},
    "coalesce(sensor, place.city)": {"sensor": "DIRECT TRANSFORMATION", "place": "DIRECT TRANSFORMATION"},
    "CASE WHEN value > 1 THEN sensor ELSE 'x' END": {
        "value": "INDIRECT CONDITIONAL",
        "sensor": "DIRECT TRANSFORMATION",
    },
    "CASE sensor WHEN 'x' THEN 1 END": {"sensor": "INDIRECT CONDITIONAL"},
}


@pytest.mark.parametrize(("text", "ways"), WAYS.items())
def test_a_value_depends_on_attributes_in_the_ways_of_openlineage(text: str, ways: dict[str, str]):
    found = column_sources("Functor", {"output": {"up": text}}, [port_of(READING)], ["up"])["up"]
    assert {name: [str(each) for each in uses] for (_, name), uses in found.items()} == {
        name: [way] for name, way in ways.items()
    }


TYPES: list[tuple[str, dict[str, Any], list[str], dict[str, str]]] = [
    ("Filter", {"filter": "value > 1"}, [READING], {"filter": "boolean"}),
    ("Filter", {"filter": True}, [READING], {"filter": "boolean"}),
    ("Filter", {"filter": "value > ${least}"}, [READING], {}),
    ("Sort", {"sortBy": ["value", "upper(sensor)"], "order": "ascending"}, [READING], {"sortBy": "double, string"}),
    ("Split", {"index": "length(sensor)"}, [READING], {"index": "int"}),
    ("Switch", {"status": "name = 'a'"}, [READING, OTHER], {"status": "boolean"}),
    ("Functor", {"filter": "value > 1", "output": {"up": "value / 2"}}, [READING],
     {"filter": "boolean", "output.up": "double"}),
    ("Functor", {"output": [{}, {"up": "codes[0]"}]}, [READING], {"output[1].up": "int"}),
    ("Join", {"match": "lhs_sensor = rhs_sensor", "output": {"it": "concat(name, '')"}}, [READING, OTHER],
     {"match": "boolean", "output.it": "string"}),
    ("Aggregate", {"output": {"it": "Sum(value)"}}, [READING], {}),
    ("Custom", {"function": "m:f"}, [READING], {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters", "ports", "right"), TYPES)
def test_expressions_have_the_types_that_the_table_gives(
    kind: str, parameters: dict[str, Any], ports: list[str], right: dict[str, str]
):
    assert expression_types(kind, parameters, list(map(port_of, ports))) == right
