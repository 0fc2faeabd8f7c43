"""The parser of tuple types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.model.schema import Attribute, parse_schema


def test_flat_and_nested() -> None:
    schema = parse_schema("a string, b BIGINT NOT NULL COMMENT 'x', `c d` decimal(12,2), e: array<map<string,int>>")
    assert not schema.errors
    assert schema.attributes == (
        Attribute("a", "string"),
        Attribute("b", "bigint", required=True),
        Attribute("c d", "decimal(12, 2)"),
        Attribute("e", "array<map<string, int>>"),
    )
    assert schema.names == ("a", "b", "c d", "e")
    nested = parse_schema("s struct<x: long, y struct<z: timestamp>>, t real, u decimal")
    assert [each.type for each in nested.attributes] == [
        "struct<x: bigint, y: struct<z: timestamp>>",
        "float",
        "decimal(10, 0)",
    ]


@pytest.mark.parametrize("name", ["string", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double"])
def test_simple_types_are_parsed_in_upper_case(name: str) -> None:
    assert parse_schema(f"a {name.upper()}").attributes == (Attribute("a", name),)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "at least one attribute"),
        ("a", "has no type"),
        ("a strng", "there is no type strng; the nearest is string"),
        ("a xyz", "there is no type xyz"),
        ("a string,", "at the end"),
        ("a string b int", "','"),
        ("a array<int", "at the end"),
        ("a map<int>", "','"),
        ("a decimal(50)", "precision"),
        ("a decimal(3,5)", "scale"),
        ("a int, a string", "twice"),
        ("a int; b int", "unexpected"),
        ("a int not", "at the end"),
        ("a struct<x: int not null>", "x within a struct is NOT NULL"),
        ("a " + "array<" * 100 + "int" + ">" * 100, "nested too deeply"),
        ("a struct<x: int, x: int>", "twice"),
    ],
)
def test_an_error_of_a_schema_is_reported_alone(text: str, part: str) -> None:
    errors = parse_schema(text).errors
    assert len(errors) == 1
    assert part in errors[0]


@given(st.text(alphabet="ab `<>(),:'1 intmapstructarraydecimal"))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    schema = parse_schema(text)
    assert bool(schema.attributes) or bool(schema.errors)
    if not schema.errors:
        assert parse_schema(schema.ddl) == schema
