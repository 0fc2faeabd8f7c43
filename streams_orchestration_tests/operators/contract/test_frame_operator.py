"""Operators that are Spark's inside check their parameters."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.standard.transformation.dataframe import DataFrame
from streams_orchestration.operators.standard.transformation.sql import Sql

TABLE = {"file": "names.csv", "format": "csv", "schema": "k string"}


def checked(kind: Any, **parameters: Any) -> None:
    context = OperatorContext.declared("Work", ["k string"], ["k string"], ports=["Rows"])
    kind.check(context, kind.Parameters.model_validate(parameters))


def test_a_table_that_does_not_stream_is_an_argument_of_its_name():
    checked(DataFrame, function="textwrap:fill", static={"width": TABLE})


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (Sql, {"query": "SELECT 1", "static": {"Rows": TABLE}}, "Rows is the name of an input port, too"),
        (Sql, {"query": "SELECT 1", "static": {"t": {"file": "t.csv", "format": "csv"}}}, "csv needs a schema"),
        (Sql, {"query": "SELECT 1", "static": {"t": {"file": "t", "format": "avro"}}}, "static.t.format"),
        (DataFrame, {"function": "copy:copy", "static": {"names": TABLE}}, "unexpected keyword argument 'names'"),
        (
            DataFrame,
            {"function": "copy:copy", "static": {"x": TABLE}, "arguments": {"x": 1}},
            "multiple values for keyword argument 'x'",
        ),
    ],
)
def test_wrong_parameters_of_queries_are_refused(kind: Any, parameters: dict[str, Any], message: str):
    with pytest.raises((ValueError, ValidationError), match=message):
        checked(kind, **parameters)
