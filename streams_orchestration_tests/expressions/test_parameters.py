"""Functions take what Spark's take, and nothing else."""

from __future__ import annotations

import pytest

from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.refused import REFUSED
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration_tests.specs import CASES

KINDS = {name: parse_type(kind) for name, kind in (
    ("i", "int"), ("g", "bigint"), ("x", "double"), ("m", "decimal(10, 2)"), ("s", "string"), ("w", "binary"),
    ("b", "boolean"), ("d", "date"), ("t", "timestamp"), ("l", "array<int>"), ("k", "array<string>"),
    ("p", "map<string, int>"), ("n", "map<int, int>"),
)}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("unix_seconds(t)", "bigint"), ("unix_micros(NULL)", "bigint"), ("unix_date(d)", "int"),
        ("timestamp_millis(i)", "timestamp"), ("timestamp_micros(g)", "timestamp"), ("bit_count(b)", "int"),
        ("bit_count(g)", "int"), ("soundex(s)", "string"), ("mask(s, 'Q', NULL)", "string"),
        ("get_json_object(s, '$.a')", "string"), ("json_array_length(NULL)", "int"), ("array_join(k, ',')", "string"),
        ("array_repeat(x, i)", "array<double>"), ("str_to_map(s)", "map<string, string>"),
        ("format_number(m, 2)", "string"), ("overlay(w, X'00', 1)", "binary"), ("overlay(s, i, 1)", "string"),
        ("to_timestamp(i)", "timestamp"), ("to_timestamp_ltz(x)", "timestamp"), ("try_to_timestamp(m)", "timestamp"),
        ("to_date(i, 'yyyyMMdd')", "date"), ("to_timestamp_ntz(g, 'yyyy')", "timestamp_ntz"),
        ("to_date(w)", "date"), ("to_date(t, s)", "date"), ("try_to_date(NULL)", "date"), ("to_date(i)", "date"),
        ("try_to_date(x)", "date"), ("to_timestamp_ntz(m)", "timestamp_ntz"),
        ("map_contains_key(n, g)", "boolean"), ("unix_timestamp(d)", "bigint"), ("unix_timestamp(s, 'yyyy')", "bigint"),
    ],
)  # fmt: skip
def test_arguments_of_the_types_that_spark_takes_are_accepted(text: str, kind: str):
    assert typed(text, KINDS).type == parse_type(kind)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unix_seconds(d)", "value is date, but timestamp or timestamp_ntz is expected"),
        ("unix_millis(s)", "value is string, but timestamp or timestamp_ntz is expected"),
        ("unix_date(t)", "value is timestamp, but date is expected"),
        ("timestamp_millis(x)", "value is double, but a whole number is expected"),
        ("timestamp_micros('1')", "value is string, but a whole number is expected"),
        ("bit_count('7')", "value is string, but a whole number or boolean is expected"),
        ("bit_count(x)", "value is double"),
        ("soundex(i)", "value is int, but string is expected"),
        ("mask(s, s)", "upper is string, but constant string is expected"),
        ("mask(i)", "value is int, but string is expected"),
        ("get_json_object(i, '$.a')", "json is int, but string is expected"),
        ("json_object_keys(w)", "json is binary, but string is expected"),
        ("array_join(l, ',')", "values is array<int>, but array<string> is expected"),
        ("array_repeat(i, g)", "times is bigint, but int is expected"),
        ("str_to_map(s, 1)", "pairs is int, but string is expected"),
        ("format_number(s, 2)", "value is string, but a number is expected"),
        ("format_number(x, g)", "digits is bigint, but int is expected"),
        ("overlay(w, 'a', 1)", "not possible"),
        ("map_contains_key(p, 1)", "not possible"),
        ("map_contains_key(p, NULL)", "not possible"),
        ("round(x, array(1))", "not possible"),
        ("round(m, 'a')", "the number of digits cannot be 'a'"),
        ("round(m, array(1))", "the number of digits cannot be"),
        ("unix_timestamp(s, 1)", "the pattern must be a text"),
        ("unix_timestamp(i)", "not possible"),
        ("sort_array(l, b)", "ascending is boolean, but constant boolean is expected"),
        ("to_timestamp(i, 'yyyy')", "only a text has a pattern; CAST the number AS STRING"),
        ("try_to_timestamp(m, s)", "only a text has a pattern"),
        ("to_date(s, 'A')", "'A'"),
        ("try_to_timestamp(s, 'YYYY')", "'YYYY'"),
        ("to_date(i, 'A')", "'A'"),
        ("unix_timestamp(s, 'A')", "'A'"),
        ("date_format(t, 'A')", "'A'"),
        ("from_unixtime(g, 'A')", "'A'"),
        ("date_format(t)", r"date_format takes 2 arguments"),
        ("to_date(b)", r"to_date\(boolean\) is not possible; an example is to_date\("),
        ("to_timestamp(l)", r"to_timestamp\(array<int>\) is not possible"),
        ("to_timestamp(INTERVAL 1 DAY)", "not possible"),
        ("to_date(s, 'y', 's')", "not possible"),
        ("to_unix_timestamp(INTERVAL 1 DAY)", "not possible"),
    ],
)
def test_arguments_of_other_types_are_refused(text: str, message: str):
    with pytest.raises(ExpressionError, match=message):
        typed(text, KINDS)


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_of_other_tuples_of_a_clock_or_of_chance_is_refused_with_its_reason(name: str):
    assert name not in FUNCTIONS
    for arguments in ("", "i", "i, s"):
        with pytest.raises(ExpressionError) as caught:
            typed(f"{name}({arguments})", KINDS)
        assert str(caught.value) == f"{name}(...) {REFUSED[name]}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("java_method('a', 'b')", "calls code of the JVM; use a Custom operator"),
        ("reflect('a', 'b')", "calls code of the JVM"),
        ("parse_json(s)", "needs the type variant"),
        ("zeroifnull(i)", "not supported in expressions; write coalesce"),
        ("xxhash64(i)", "not supported in expressions; use a Sql operator"),
        ("transform(l)", "takes a function; use a Custom operator"),
    ],
)
def test_a_function_that_only_spark_has_is_refused_with_its_reason(text: str, reason: str):
    with pytest.raises(ExpressionError, match=reason):
        typed(text, KINDS)


SYNTAX = frozenset(("!", "!=", "==", "between", "case", "cast", "when", "extract"))
"""Functions in Spark's list that are syntax of expressions."""
OTHERS = frozenset(("quantile", "quantile_cont", "quantile_disc", "sum_distinct"))
"""Refused functions of other systems."""
SPARK = (CASES / "spark_functions.txt").read_text().split()
"""All functions of Spark, by `SHOW FUNCTIONS`; a test with Spark holds them to be these."""


def fault(name: str) -> str:
    try:
        typed(f"{name}(i)", KINDS)
    except ExpressionError as error:
        return str(error)
    return ""


def test_every_function_of_spark_is_in_the_table_or_refused_with_a_reason():
    unknown = [name for name in {*SPARK} - SYNTAX - {*FUNCTIONS} - {*REFUSED} if "there is no function" in fault(name)]
    assert unknown == []
    assert {*REFUSED} - {*SPARK} == OTHERS


@pytest.mark.parametrize("text", ["eval('1')", "my_function(i)", "sleep(1)"])
def test_a_function_that_is_not_in_the_table_is_refused(text: str):
    with pytest.raises(ExpressionError, match="there is no function"):
        typed(text, KINDS)
