"""Operators that are Spark's inside: where they run, what they are refused for, and that nothing else joins them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.documents import dump
from streams_orchestration.compiler.explain.questions import explain
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.diagnostics import ApplicationError, errors_of

ROW = "k string, ts timestamp, n bigint"


def spec(parameters: dict[str, Any], operator: str = "Sql", **more: Any) -> dict[str, Any]:
    start = {"consistent": {"trigger": "periodic", "period": 1.0}}
    work = {"name": "Work", "operator": operator, "inputs": ["Rows"], "parameters": parameters, **more}
    return {
        "specVersion": 1,
        "application": "queries",
        "graph": [
            {"name": "Rows", "operator": "Beacon", "annotations": start, "parameters": {"output": {"n": "1"}},
             "outputs": [{"stream": "Rows", "schema": ROW}]},
            {"outputs": [{"stream": "Done", "schema": ROW}], **work},
            {"name": "Further", "operator": "Sql", "inputs": ["Done"], "parameters": {"query": "SELECT * FROM Done"},
             "outputs": [{"stream": "Last", "schema": ROW}]},
            {"name": "Out", "operator": "FileSink", "inputs": ["Last"], "parameters": {"file": "out"}},
        ],
    }  # fmt: skip


def compiled(document: dict[str, Any], directory: Path, options: Options | None = None) -> PlannedCompilation:
    path = directory / "queries.yaml"
    path.write_text(yaml.safe_dump(document))
    return compile_spec(path, options or Options())


QUERY = {"query": "SELECT * FROM Rows"}


@pytest.mark.parametrize("fusion", ["automatic", "manual", "legacy"])
def test_a_query_is_alone_in_its_pe(tmp_path: Path, fusion: Any):
    actual = compiled(spec(QUERY), tmp_path, Options(fusion=fusion, pes=1 if fusion == "manual" else None))
    assert {each.severity for each in actual.diagnostics} <= {"warning"}
    names = [[actual.physical.operators[each].name for each in pe.operators] for pe in actual.fusion.pes]
    assert ["Work"] in names
    assert ["Further"] in names
    engines = {next(iter(p.operators.values())).name: p.engine for p in actual.deployment.programs}
    assert {engines["Work"], engines["Further"]} == {"dataframe"}


def annotated(document: dict[str, Any], annotation: dict[str, Any], operator: int = 1) -> dict[str, Any]:
    document["graph"][operator]["annotations"] = {"parallel": annotation}
    return document


def test_a_query_with_the_width_of_spark_is_one_replica_and_no_region(tmp_path: Path):
    without = compiled(spec(QUERY), tmp_path)
    actual = compiled(annotated(spec(QUERY), {"width": "spark"}), tmp_path)
    assert actual.diagnostics == without.diagnostics
    assert dump(actual.deployment) == dump(without.deployment)
    assert explained(actual, "Work") == [
        "one query of Spark's, whose partitions are its own: one for each core of its host"
    ]


def test_channels_of_a_query_have_one_partition_each(tmp_path: Path):
    divided = {"width": 2, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}
    actual = compiled(annotated(spec(QUERY), divided), tmp_path)
    assert explained(actual, "Work[1]") == ["a query of Spark's with one partition: the channels divide its tuples"]


def explained(compilation: PlannedCompilation, operator: str) -> list[str]:
    sections = explain(compilation, operator).sections
    return [fact.text for each in sections if each.title == "Channel" for fact in each.facts if "Spark" in fact.text]


@pytest.mark.parametrize(
    ("operator", "annotation", "message"),
    [
        (3, {"width": "spark"}, "the width spark is for Sql and DataFrame operators only"),
        (1, {"width": "spark", "broadcast": ["Rows"]}, "there are no channels, and so no broadcast"),
        (
            1,
            {"width": "Spark"},
            "an int32 of at least 1, or ${name}, not 'Spark'; a Spark query may have the width spark",
        ),
        (
            1,
            {"width": "spark", "partitionBy": [{"port": "Rows", "attributes": ["k"]}], "replicateHostTags": ["a"]},
            "and so no partitionBy or replicateHostTags",
        ),
    ],
)
def test_the_width_of_spark_is_for_queries_and_without_channels(
    tmp_path: Path, operator: int, annotation: dict[str, Any], message: str
):
    with pytest.raises(ApplicationError) as raised:
        compiled(annotated(spec(QUERY), annotation, operator), tmp_path)
    (diagnostic,) = errors_of(raised.value.diagnostics)
    assert message in diagnostic.message
    assert diagnostic.operator == ("Out" if operator == 3 else "Work")


def test_a_pattern_of_widths_does_not_stand_for_the_width_of_spark(tmp_path: Path):
    with pytest.raises(ApplicationError) as raised:
        compiled(annotated(spec(QUERY), {"width": "spark"}), tmp_path, Options(widths=(("Work", 2),)))
    assert [each.code for each in errors_of(raised.value.diagnostics)] == ["SO0207"]


def test_queries_that_are_colocated_are_one(tmp_path: Path):
    document = spec(QUERY)
    for each in document["graph"][1:3]:
        each["config"] = {"placement": {"partitionColocation": "together"}}
    actual = compiled(document, tmp_path)
    assert actual.diagnostics == ()
    programs = [program for program in actual.deployment.programs if program.engine == "dataframe"]
    assert [[each.name for each in program.operators.values()] for program in programs] == [["Work", "Further"]]
    assert [len(program.tasks) for program in programs] == [1]


@pytest.mark.parametrize(
    ("operator", "parameters", "message"),
    [
        ("Sql", {"query": " "}, "a query is expected"),
        ("Sql", {}, "the parameter query is missing"),
        ("Sql", QUERY | {"outputMode": "complete"}, "outputMode"),
        ("Sql", QUERY | {"watermarks": {"Row": {"attribute": "ts", "delay": "1 hour"}}}, "no input stream Row"),
        ("Sql", QUERY | {"watermarks": {"Rows": {"attribute": "t", "delay": "1 hour"}}}, "no attribute t"),
        (
            "Sql",
            QUERY | {"watermarks": {"Rows": {"attribute": "n", "delay": "1 hour"}}},
            "n of Rows is not a timestamp",
        ),
        ("Sql", QUERY | {"watermarks": {"Rows": {"attribute": "ts", "delay": "soon"}}}, "a span of time is expected"),
        ("DataFrame", {"function": "no.module:f"}, "function: no.module:f"),
        ("DataFrame", {"function": "math:pi"}, "math:pi is not a function"),
        (
            "DataFrame",
            {"function": "inspect:signature", "arguments": {"none": 1}},
            "cannot be called with 1 DataFrames",
        ),
        ("DataFrame", {"function": "copy:copy", "static": {"Rows": True}}, "static"),
    ],
)
def test_wrong_parameters_of_a_query_are_found_before_anything_starts(
    tmp_path: Path, operator: str, parameters: dict[str, Any], message: str
):
    compilation = compiled(spec(parameters, operator), tmp_path)
    (matches,) = check_operators(compilation.progress)
    assert matches.operator == "Work"
    assert message in matches.message


def test_a_query_needs_the_type_of_its_output(tmp_path: Path):
    document = spec(QUERY)
    document["graph"][1]["outputs"] = ["Done"]
    del document["graph"][2:]
    assert any("needs a schema" in each.message for each in check_operators(compiled(document, tmp_path).progress))
