"""JSON texts that do not fit their type, with the values that Spark gives them; `test_spark` compares many more."""

from __future__ import annotations

import pyarrow as pa
import pytest

from streams_orchestration.expressions.arrow import array_from, values_of
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.types import BOOLEAN, STRING, parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.expressions.vectors import SelectedTuples, full, vector_function

CASES = [
    ("a int, b string", "x", "{null, null}"),
    ("a int, b string", '{"a":1,"b":', "{null, null}"),
    ("a int, b string", "null", "{null, null}"),
    ("a int, b string", '[{"a":1}]', "{null, null}"),
    ("a int, b string", '{"a":"no","b":"y"}', "{null, y}"),
    ("a int, b string", '{"a":1} more', "{1, null}"),
    ("a int, b string", "{'a':1,'b':'it\\'s \"x\"'}", '{1, it\'s "x"}'),
    ("a int, b string", "", None),
    ("a int, b string", "\t ", None),
    ("a int", '{"a":1,"a":"x"}', "{1}"),
    ("a array<int>", '{"a":[1,"x"]}', "{null}"),
    ("a array<struct<b:int>>", '{"a":[{"b":"x"},{"b":1}]}', "{[{null}, {1}]}"),
    ("a array<struct<b:int>>", '{"a":[{"b":1},3]}', "{null}"),
    ("a map<string,int>", '{"a":{"k":1,"l":"x"}}', "{null}"),
    ("a date", '{"a":"1"}', "{1970-01-02}"),
    ("a double", '{"a":NaN}', "{NaN}"),
    ("a double", '{"a":-INF}', "{-Infinity}"),
    ("a double", '{"a":"+INF"}', "{Infinity}"),
    ("a double", '{"a":"INF"}', "{null}"),
    ("a string", '{"a":"-INF","b":+INF}', "{-INF}"),
    ("map<string,int>", '{"a":1,"b":3,"a":2}', "{a -> 1, b -> 3, a -> 2}"),
    ("a string", '{"a":[1e2,NaN,{"b":null}]}', '{[100.0,"NaN",{"b":null}]}'),
    ("array<int>", "x", None),
    ("array<int>", "[1,null]", "[1, null]"),
    ("array<int>", '[1,"x"]', None),
    ("array<struct<a:int>>", '{"a":1}', "[{1}]"),
    ("array<struct<a:int>>", '[{"a":"no"},{"a":1}]', "[{null}, {1}]"),
    ("array<struct<a:int>>", '[{"a":1},3]', None),
    ("map<string,int>", '{"k":1,"l":"x"}', None),
    ("map<string,struct<a:int>>", '{"k":{"a":"no"},"l":{"a":1}}', "{k -> {null}, l -> {1}}"),
]


@pytest.mark.parametrize(("kind", "text", "value"), CASES)
def test_a_part_that_does_not_fit_makes_the_field_or_the_whole_null(kind: str, text: str, value: str | None):
    node = typed(f"CAST(from_json(s, '{kind}') AS STRING)", {"s": parse_type("string")})
    assert row_function(node, ["s"], UTC)((text,)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("get_json_object(s, '$.a')", "1"),
        ("CAST(json_object_keys(s) AS STRING)", "[a]"),
        ("CAST(json_array_length(get_json_object(s, '$.b')) AS STRING)", None),
    ],
)
def test_only_the_first_value_of_a_text_is_read_and_single_quotes_are_taken(text: str, value: str | None):
    function = row_function(typed(text, {"s": parse_type("string")}), ["s"], UTC)
    assert function(("{'a':1} {",)) == value


MAP = "from_json(s, 'map<string, int>')"


@pytest.mark.parametrize(
    ("text", "value"), [(f"{MAP}['a']", 1), (f"size({MAP})", 3), (f"map_values({MAP})", (1, 3, 2))]
)
def test_a_repeated_key_of_a_map_gives_its_first_value_and_both_are_kept(text: str, value: object):
    json = ('{"a":1,"b":3,"a":2}',)
    assert row_function(typed(text, {"s": parse_type("string")}), ["s"], UTC)(json) == value
    kept = row_function(typed(MAP, {"s": parse_type("string")}), ["s"], UTC)(json)
    kind = parse_type("map<string, int>")
    (read,) = values_of(array_from([kept], kind), kind)
    assert row_function(typed(text.replace(MAP, "m"), {"m": kind}), ["m"], UTC)((read,)) == value


def test_a_key_that_does_not_fit_fails_for_tuples_that_need_the_map_only():
    node = typed("ok AND from_json(s, 'map<int, int>') IS NOT NULL", {"s": STRING, "ok": BOOLEAN})
    columns = {"s": pa.array(['{"1": 2}', '{"a": 2}']), "ok": pa.array([True, False])}
    found = full(vector_function(node, UTC)(SelectedTuples(columns, 2)), 2, pa.bool_())
    assert found.to_pylist() == [True, False]


PATHS = [
    ('[{"a":1},{"a":2}]', "$.a", None),
    ('{"a":[{"b":1},{"b":2}]}', "$.a.b", None),
    ('{"a":[{"b":1},{"b":2}]}', "$.a[*].b", "[1,2]"),
    ('{"a":[{"b":1}]}', "$.a[*].b", "1"),
    ('{"a":["x","y"]}', "$.a[1]", "y"),
    ('{"a":["x"]}', "$.a[*]", '"x"'),
    ('{"a":{"b":1,"c":2}}', "$.a.*", None),
    ('{"a":{"b":1,"c":2}}', "$.a[*]", None),
    ('[{"a":1}]', "$[*][*].a", "[1]"),
    ('{"a":[[1,2],[3]]}', "$.a[*][*]", "[1,2,3]"),
    ('{"a":[{"b":[1]},{"b":[2]}]}', "$.a[*].b[*]", "[[1],[2]]"),
    ('{"a":null}', "$.a", None),
    ('{"a":1}', "a", None),
]


@pytest.mark.parametrize(("text", "path", "value"), PATHS)
def test_a_path_finds_what_spark_finds(text: str, path: str, value: str | None):
    function = row_function(typed(f"get_json_object(s, '{path}')", {"s": parse_type("string")}), ["s"], UTC)
    assert function((text,)) == value
