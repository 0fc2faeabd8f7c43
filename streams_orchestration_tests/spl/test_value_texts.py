"""Values of SPL have the text that a cast to rstring gives, and are read from it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.spl.types.text import ValueTextError, text_of, value_of
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    FLOAT64,
    INT32,
    INTEGERS,
    RSTRING,
    TIMESTAMP,
    USTRING,
    XML,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
    range_of,
)
from streams_orchestration_tests.examples import examples

FLOAT32, INT8, DECIMAL = Primitive("float32"), Primitive("int8"), Primitive("decimal64")
COLOURS = Enumeration(("red", "green"))
PAIR = Tuple((TupleAttribute("a", INT32), TupleAttribute("b", RSTRING)))
TEXTS = Collection("list", (RSTRING,))
COUNTS = Collection("map", (RSTRING, INT32))
VALUES: list[tuple[Type, Any, str]] = [
    (BOOLEAN, True, "true"), (INT8, -7, "-7"), (FLOAT64, 0.1, "0.1"), (FLOAT64, 1 / 3, "0.333333333333333"),
    (FLOAT64, 1e20, "1e+20"), (FLOAT64, 100000.0, "100000"), (FLOAT64, 1e15, "1e+15"), (FLOAT64, float("inf"), "inf"),
    (FLOAT64, float("-nan"), "-nan"), (FLOAT32, 16777216.0, "1.67772e+07"), (FLOAT32, 0.10000000149011612, "0.1"),
    (DECIMAL, Decimal("1.5"), "1.5"), (Primitive("complex32"), 1.5 - 2j, "(1.5,-2)"), (XML, "<a/>", "<a/>"),
    (TIMESTAMP, 5 * 10**9 + 7, "(5,7,0)"), (TIMESTAMP, -1, "(-1,999999999,0)"), (RSTRING, 'a"b', 'a"b'),
    (BLOB, b"\x01\xff", "01ff"), (COLOURS, "green", "green"),
    (Collection("list", (INT32,)), [1, 2, 3], "[1,2,3]"), (TEXTS, ["a", 'b"c'], '["a","b\\"c"]'), (TEXTS, [], "[]"),
    (TEXTS, ["\n\x01\\", "é"], '["\\n\\u0001\\\\","é"]'), (Collection("set", (COLOURS,)), ["red"], "{red}"),
    (COUNTS, [("a", 1), ("b", 2)], '{"a":1,"b":2}'), (PAIR, {"a": 1, "b": "x"}, '{a=1,b="x"}'),
    (Optional(INT32), None, "null"), (Optional(INT32), 3, "3"), (Optional(RSTRING), "x", "x"),
    (Collection("list", (Optional(USTRING),)), ["a", None], '["a",null]'),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "value", "text"), VALUES, ids=str)
def test_a_value_has_a_text(type_: Type, value: object, text: str):
    assert text_of(value, type_) == text


@pytest.mark.parametrize(("type_", "text", "value"), [
    (INT32, " +5 ", 5), (FLOAT64, ".5", 0.5), (FLOAT64, "-inf", float("-inf")), (TIMESTAMP, "( 5 , 7 )", 5 * 10**9 + 7),
    (TEXTS, "[ 'a' , \"b\" ]", ["a", "b"]), (PAIR, '{ a = 1, b = "x,}" }', {"a": 1, "b": "x,}"}), (BLOB, "", b""),
    (Collection("list", (XML,)), '["<a/>"x]', ["<a/>"]), (BoundedString(2), "é", "é"),
])  # fmt: skip
def test_a_text_may_be_written_otherwise(type_: Type, text: str, value: object):
    assert value_of(text, type_) == value


@pytest.mark.parametrize(("type_", "text", "message"), [
    (INT32, "4.5", "'4.5' is not a value of type int32: expected a value of type int32 at character 1"),
    (INT32, "", "'' is not a value of type int32: expected a value of type int32 at character 1"),
    (INT32, "5x", "'5x' is not a value of type int32: expected nothing more at character 2"),
    (INT8, "128", "128 is outside of int8; its values are -128 to 127"),
    (INT8, "nan", "'nan' is not a value of type int8"),
    (FLOAT32, "1e39", "1e39 is outside of float32"),
    (BOOLEAN, "yes", "expected true or false at character 1"),
    (COLOURS, "blue", "expected one of red, green at character 1"),
    (TEXTS, "[a]", "expected a string in quotes at character 2"),
    (TEXTS, '["a" "b"]', "expected ',' at character 6"),
    (PAIR, '{b="x",a=1}', "expected the attribute a at character 2"),
    (Collection("list", (INT32,), 1), "[1,2]", "has more than 1 elements"),
    (BoundedString(1), "é", "has more than 1 bytes"),
    (TIMESTAMP, "5", r"expected '\(' at character 1"),
])  # fmt: skip
def test_a_text_that_is_no_value_is_refused(type_: Type, text: str, message: str):
    with pytest.raises(ValueTextError, match=message):
        value_of(text, type_)


def values_of(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case Optional(content=content):
            return st.none() | values_of(content)
        case Tuple(attributes=attributes):
            return st.fixed_dictionaries({each.name: values_of(each.type) for each in attributes})
        case Collection(kind="map", elements=(key, content)):
            return st.lists(st.tuples(values_of(key), values_of(content)), max_size=3)
        case Collection(elements=(element,)):
            return st.lists(values_of(element), max_size=3)
        case Enumeration(words=words):
            return st.sampled_from(words)
        case Primitive() if type_ in INTEGERS:
            return st.integers(*range_of(type_))
        case Primitive(name="float64"):
            return st.floats(-1e300, 1e300).map(lambda value: float(f"{value:.15g}"))
        case Primitive(name="boolean"):
            return st.booleans()
        case Primitive(name="timestamp"):
            return st.integers(-(2**62), 2**62)
        case Primitive(name="blob"):
            return st.binary(min_size=1, max_size=4)
        case _:
            return st.text(max_size=4)


PARTS = st.sampled_from((BOOLEAN, INT8, INT32, FLOAT64, RSTRING, USTRING, TIMESTAMP, BLOB, COLOURS))
TYPES = st.recursive(
    PARTS,
    lambda inner: (
        st.builds(lambda one, other: Tuple((TupleAttribute("a", one), TupleAttribute("b", other))), inner, inner)
        | st.builds(lambda kind, one: Collection(kind, (one,)), st.sampled_from(["list", "set"]), inner)
        | st.builds(lambda one, other: Collection("map", (one, other)), inner, inner)
        | inner.filter(lambda each: not isinstance(each, Optional)).map(Optional)
    ),
    max_leaves=4,
)


@pytest.mark.slow
@examples(400)
@given(TYPES.flatmap(lambda type_: st.tuples(st.just(type_), values_of(type_))))
def test_a_value_is_read_from_its_text(typed: tuple[Type, Any]):
    """But for an empty blob, whose text is empty: `[]` is the text of an empty list, too."""
    type_, value = typed
    wrapped = Collection("list", (type_,))
    assert value_of(text_of([value], wrapped), wrapped) == [value]
