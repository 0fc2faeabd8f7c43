"""Expressions have the values that Spark gives them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application
from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.expressions.arrow import values_of
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.choices import CHOICES
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tree import Call, TypedNode, depends_on_zone, nodes
from streams_orchestration.expressions.types import Type
from streams_orchestration.expressions.typing import typed
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.expressions.generation import (
    ATTRIBUTES,
    UNLIKE_SPARK,
    ZONES,
    expression,
    rows_of,
    tuples,
    zone_of,
    zoned_functions,
)
from streams_orchestration_tests.expressions.sameness import same
from streams_orchestration_tests.specs import CASES

pytestmark = pytest.mark.java


def in_spark(
    expressions: Mapping[str, tuple[str, Type]], batch: pa.RecordBatch, zone: str | None = None
) -> Mapping[str, Sequence[Any]]:
    """Return what Spark makes of expressions, by their names; their types must be those that are given."""
    spark = spark_engine().session.newSession()
    spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
    given = ", ".join(f"{name} {kind}" for name, kind in ATTRIBUTES.items())
    spark.createDataFrame(pa.Table.from_batches([batch]), given).createOrReplaceTempView("T")
    frame = spark.sql("SELECT " + ", ".join(f"{text} AS {name}" for name, (text, _) in expressions.items()) + " FROM T")
    wanted = StructType.fromDDL(", ".join(f"{name} {kind}" for name, (_, kind) in expressions.items()))
    assert frame.schema.simpleString() == wanted.simpleString()
    result = frame.toArrow()
    return {name: values_of(result.column(name).combine_chunks(), kind) for name, (_, kind) in expressions.items()}


TIMES = [
    *("to_timestamp(5)", "to_timestamp(1.5)", "to_timestamp(int1)", "to_timestamp(tinyint1)", "to_timestamp(bigint1)"),
    *("to_timestamp_ltz(-1.0000019)", "to_timestamp_ltz(smallint2)", "to_timestamp(decimal1)", "to_timestamp(1.1e0)"),
    *("try_to_timestamp(double1)", "try_to_timestamp(float1)", "try_to_timestamp(bigint2)", "try_to_timestamp(1e30)"),
    *("try_to_timestamp(string1)", "try_to_timestamp(binary1)", "try_to_date(string1)", "try_to_date(binary2)"),
    *("to_date(2024)", "try_to_date(bigint1)", "try_to_date(double1)", "to_timestamp_ntz(2024)"),
    *("to_date(2024, 'yyyy')", "to_date(20240131L, 'yyyyMMdd')", "to_timestamp_ntz(2024.0, 'yyyy.S')"),
    *("try_to_date(int1, 'yyyy')", "try_to_date(double1, 'yyyy.S')", "to_date(X'32303234')", "to_date(NULL)"),
    *("to_timestamp(X'32303234', 'yyyy')", "to_timestamp(date1, string1)", "to_date(timestamp1, 'x')"),
    *("to_timestamp_ntz(timestamp1)", "to_timestamp_ntz(date1, CAST(NULL AS STRING))", "try_to_date(timestamp_ntz1)"),
    *("to_date(date1, CAST(NULL AS STRING))", "unix_timestamp(timestamp1, 'x')", "to_unix_timestamp(date2, string1)"),
]
"""Functions that read texts as times, with arguments of all types that they take."""


def test_functions_that_read_texts_as_times_take_numbers_and_times_as_spark_does():
    batch = tuples(random.Random(2), 30)
    nodes_of = {f"e{number}": (text, typed(text, ATTRIBUTES)) for number, text in enumerate(TIMES)}
    found = in_spark({name: (text, node.type) for name, (text, node) in nodes_of.items()}, batch)
    rows = rows_of(batch)
    for name, (text, node) in nodes_of.items():
        function = row_function(node, list(ATTRIBUTES), UTC)
        assert same([function(row) for row in rows], found[name]), text


JSON = (
    *("", "\t\n ", "\u00a0", "x", "{", "[]", "null", "{}", "1", '"t"', '{"a":1} trailing', '{"a":1}{"a":2}', "[1] x"),
    *("{'a':1}", "{'a':'it\\'s','b':\"q\"}", "{'a':'say \"x\"'}", "{a:1}", '{"a":01}', '{"a":+1}', '{"a":1,}'),
    *(
        "[1,]",
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":1 /* c */}',
        '{"a":"x\ty"}',
        '{"a":""}',
        '{"a":null}',
        '{"a":[1,"x"]}',
    ),
    *('{"a":[1,null]}', '{"a":[]}', '{"a":{}}', '{"a":{"b":1}}', '{"a":{"b":"x"}}', '{"a":{"b":"x","c":2}}'),
    *('{"a":[{"b":"x"},{"b":1}]}', '{"a":[{"b":"x"},3]}', '{"a":{"k":{"b":"x"},"l":{"b":1}}}', '{"a":{"k":1,"l":"x"}}'),
    *('[{"a":"no"},{"a":1}]', '[{"a":1},{"a":2}]', '[{"a":1},3]', '[{"a":1},null]', "[null]", '[1,"x"]', '[[1],["x"]]'),
    *("[[1],[2]]", '{"k":{"a":"no"},"l":{"a":1}}', '{"k":[1]}', '{"k":["x"]}', '{"a":true}', '{"a":1.0}', '{"a":1e2}'),
    *(
        '{"a":"1"}',
        '{"a":12345678901}',
        '{"a":"x","a":1}',
        '{"A":5}',
        '{"a":1,"b":2',
        '{"a":[1,2',
        '{"a":1.5}',
        ' {"a":1}',
    ),
    *('{"a":[[1,2],[3]]}', '{"a":[{"b":[1]},{"b":[2]}]}', '[[{"a":1}],[{"a":2}]]', '[null,{"a":null}]'),
    *('{"a":{"b":[{"c":1}]}}', ' {"a":1}', '{"a":"2024-01-01"}', '{"a":"-7"}', '{"a":2024}', '{"b":1}'),
)
NUMBERS = (
    *("NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF", "-NaN", "+NaN", "inf", "Nan", "-Inf", "INFx"),
    *("-INFx", "NaN1", "+1", "01", "-01", "1.", ".5", "-.5", "1e", "0x1", "-", "1f", "-0", "-0.0", "1e400", "-1e400"),
    *("5", "-7", "1.005", "1e2"),
)
TEXTS = ("NaN", "Infinity", "+Infinity", "-INF", "+INF", "INF", "-NaN", "inf", "1", " 1", "1f", "1e2", "1,000", "x-INF")
TOKENS = (*NUMBERS, *(f'"{text}"' for text in TEXTS))
NUMERIC = (
    *("a double, b int", "a float, b int", "a string, b int", "a decimal(10, 2), b int", "a bigint, b int"),
    *("a boolean, b int", "a timestamp, b int", "a timestamp_ntz, b int", "a date, b int", "a array<double>, b int"),
    *("map<string, double>", "map<string, string>", "a map<string, float>, b int"),
)
REPEATED = (
    *('{"a":1,"a":2}', '{"a":1,"b":3,"a":2}', '{"a":null,"a":2}', '{"a":2,"a":null}', '{"a":1,"\\u0061":2}'),
    *('{"a":"x","a":2}', '{"a":2,"a":"x"}', '{"a":[],"a":3}', '{"a":{"x":1,"x":2}}', '[{"a":1,"a":2}]'),
)
MAP = "from_json(string1, 'map<string, int>')"
OF_MAPS = (
    *(f"CAST({MAP} AS STRING)", f"CAST({MAP}['a'] AS STRING)", f"CAST(map_keys({MAP}) AS STRING)"),
    *(f"CAST(map_values({MAP}) AS STRING)", f"CAST(size({MAP}) AS STRING)", f"CAST(map_entries({MAP}) AS STRING)"),
    *(f"to_json({MAP})", f"CAST(CAST({MAP} AS map<string, bigint>) AS STRING)"),
    *(f"CAST(map_contains_key({MAP}, 'a') AS STRING)", f"CAST(try_element_at({MAP}, 'a') AS STRING)"),
    "CAST(from_json(string1, 'map<string, map<string, int>>') AS STRING)",
    "CAST(from_json(string1, 'array<map<string, int>>') AS STRING)",
    "CAST(from_json(string1, 'map<string, string>') AS STRING)",
)
PATHS = (
    *("$", "$.a", "$.a.b", "$[*].a", "$.a[*].b", "$[0].a", "$.a[0]", "$[*]", "$.*", "$.a.*", "$.a[*]"),
    *("$[*][*].a", "a", "$.a[*][*]", "$.a.b[*].c", "$.a.b.c", "$[0][0].a", "$.a[*].b[0]", "$.a[*].b[*]"),
    *("$[0][*]", "$.a[1][*]"),
)
BROKEN = ('{"a":"x","a":1}', '{"a":1,}', '{"a":1 /* c */}', '{"a":1,"b":2')
"""Texts of which Spark's `get_json_object` reads no more than it needs, and one with a name twice."""
READ_AS = (
    *("a int", "a string, b string", "a double", "a boolean", "a date", "a decimal(5, 1)", "a array<int>"),
    *("array<int>", "a struct<b: int, c: int>", "a array<struct<b: int>>", "a map<string, struct<b: int>>"),
    *("array<struct<a: int>>", "array<array<int>>", "map<string, int>", "map<string, struct<a: int>>"),
    *("map<string, array<int>>", "array<string>"),
)
"""Types that JSON texts are read as."""


def of_texts(texts: Sequence[str]) -> pa.RecordBatch:
    """Return tuples whose attribute `string1` has the texts."""
    batch = tuples(random.Random(3), len(texts))
    place = batch.schema.get_field_index("string1")
    return batch.set_column(place, batch.schema.field(place), pa.array(texts, pa.string()))


def test_numbers_that_json_lacks_and_keys_that_are_there_twice_are_read_as_spark_reads_them():
    shapes = ('{"a":%s}', '{"a":%s,"b":1}', '{"b":1,"a":%s}', '{"a":[%s]}', "%s")
    cases = [
        ([shape % token for token in TOKENS for shape in shapes],
         [*(f"CAST(from_json(string1, '{kind}') AS STRING)" for kind in NUMERIC), "get_json_object(string1, '$')"]),
        (REPEATED, OF_MAPS),
    ]  # fmt: skip
    for texts, expressions in cases:
        batch = of_texts(texts)
        found = in_spark({f"e{number}": (text, Type("string")) for number, text in enumerate(expressions)}, batch)
        rows = rows_of(batch)
        for number, text in enumerate(expressions):
            function = row_function(typed(text, ATTRIBUTES), list(ATTRIBUTES), UTC)
            together = zip(texts, map(function, rows), found[f"e{number}"], strict=True)
            assert [each for each in together if each[1] != each[2]] == [], text


def test_json_that_does_not_fit_becomes_what_spark_makes_of_it():
    batch = of_texts(JSON)
    texts = [f"CAST(from_json(string1, '{kind}') AS STRING)" for kind in READ_AS]
    texts += [f"get_json_object(string1, '{path}')" for path in PATHS]
    texts += ["CAST(json_array_length(string1) AS STRING)"]
    found = in_spark({f"e{number}": (text, Type("string")) for number, text in enumerate(texts)}, batch)
    rows = rows_of(batch)
    for number, text in enumerate(texts):
        function = row_function(typed(text, ATTRIBUTES), list(ATTRIBUTES), UTC)
        different = [(json, ours, theirs) for json, ours, theirs
                     in zip(JSON, map(function, rows), found[f"e{number}"], strict=True)
                     if ours != theirs and ("from_json" in text or json not in BROKEN)]  # fmt: skip
        assert different == [], text


def test_the_list_of_all_functions_is_that_of_spark():
    from pyspark.sql import SparkSession

    mine = SparkSession.getActiveSession() is None
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        found = [row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    finally:
        if mine:
            spark.stop()
    assert sorted(found) == sorted((CASES / "spark_functions.txt").read_text().split())


def test_every_example_of_a_function_is_right():
    examples = [example for function in (*FUNCTIONS.values(), *CHOICES)
                for example in function.examples]  # fmt: skip
    examples.sort(key=lambda example: ">>" not in example[0])  # behind array( and map( Spark's lexer knows no shifts
    texts = {f"e{number}": (f"CAST(({text}) AS STRING)", Type("string")) for number, (text, _) in enumerate(examples)}
    found = in_spark(texts, tuples(random.Random(1), 1))
    wrong = [(text, value[0], right) for (text, right), value in zip(examples, found.values(), strict=True)
             if (value[0] if value[0] is not None else "NULL") != right]  # fmt: skip
    assert wrong == []


@pytest.mark.parametrize("name", [None, *often(ZONES, ZONES[::3])])
def test_random_expressions_have_the_same_values(name: str | None):
    rnd, zone = random.Random(20261126), zone_of(name or "UTC")
    functions = zoned_functions() if name else ()
    batch = tuples(rnd, 60 if name else 30)
    rows, chosen, right = rows_of(batch), dict[str, tuple[str, TypedNode]](), dict[str, list[Any]]()
    while len(chosen) < 120:
        text, node = expression(rnd, 2, functions, zone)
        if name and not depends_on_zone(node) and rnd.random() < 0.8:
            continue
        if name and "to_timestamp_ntz(" in text:  # Spark moves a date with a pattern by the zone
            continue
        function = row_function(node, list(ATTRIBUTES), zone)
        try:
            right[f"e{len(chosen)}"] = [function(row) for row in rows]
        except EvaluationError:
            continue
        chosen[f"e{len(chosen)}"] = text, node
    found = in_spark({each: (text, node.type) for each, (text, node) in chosen.items()}, batch, name)
    for each, (text, node) in chosen.items():
        used = {part.function.name for part in nodes(node) if isinstance(part, Call)}
        assert same(right[each], found[each], nearly=bool(used & UNLIKE_SPARK)), text


CLOCKS = {
    "hour": ("hour(at)", "int"),
    "day": ("CAST(at AS DATE)", "date"),
    "text": ("CAST(array(at) AS STRING)", "string"),
    "month": ("date_trunc('month', at)", "timestamp"),
    "later": ("at + INTERVAL 1 DAY", "timestamp"),
    "read": ("CAST('2024-10-27 02:30:00' AS TIMESTAMP)", "timestamp"),
    "written": ("to_json(named_struct('at', at))", "string"),
}


def test_a_functor_and_a_query_of_one_application_have_the_same_clocks():
    app = Application("clocks", time_zone="Europe/Berlin")
    schema = ", ".join(f"{name} {kind}" for name, (_, kind) in CLOCKS.items())
    output = {name: text for name, (text, _) in CLOCKS.items()}
    source = app.stream(op.FileSource(file="t.parquet", format="parquet"), schema="at timestamp", name="T")
    query = "SELECT " + ", ".join(f"{text} AS {name}" for name, text in output.items()) + " FROM T WHERE hour(at) < 4"
    app.stream(op.Functor(filter="hour(at) < 4", output=output), source, schema=schema, name="F").to_files("f")
    app.stream(op.Sql(query=query), source, schema=schema, name="Q").to_files("q")
    times = [{"at": f"2024-{date}:30:00Z"} for date in ("03-31T00", "03-31T01", "10-27T00", "10-27T01", "07-01T22")]
    functor, sql = app.test({"T": times}).values()
    assert functor.num_rows == len(times)
    assert functor.to_pylist() == sql.to_pylist()
