"""Types of SPL: joined, converted, cast, and those of literals."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.spl.language.expressions import expression_of
from streams_orchestration.spl.language.tree import (
    Cast,
    CollectionType,
    EnumType,
    Number,
    OptionalType,
    Prefix,
    PrimitiveType,
    TupleType,
)
from streams_orchestration.spl.language.tree import Type as WrittenType
from streams_orchestration.spl.types.casts import can_cast, initialises
from streams_orchestration.spl.types.joining import AttributeConflictError, common, fits, joined
from streams_orchestration.spl.types.literals import LiteralError, number, number_text
from streams_orchestration.spl.types.types import (
    DECIMALS,
    EMPTY_BRACES,
    EMPTY_LIST,
    FLOATS,
    INT32,
    INTEGERS,
    NULL,
    RSTRING,
    UNKNOWN,
    VOID,
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

SPECIAL = {"null": NULL, "[]": EMPTY_LIST, "{}": EMPTY_BRACES, "unknown": UNKNOWN, "void": VOID}


def type_in(text: str) -> Type:
    """Return a type from its text; names of types are not known."""
    if text in SPECIAL:
        return SPECIAL[text]
    cast = expression_of(f"({text}) x")
    assert isinstance(cast, Cast)
    return meant(cast.type)


def meant(written: WrittenType) -> Type:
    match written:
        case PrimitiveType(bound=Number(text=bound)):
            return BoundedString(int(bound))
        case PrimitiveType():
            return Primitive(written.name)
        case EnumType():
            return Enumeration(tuple(each.name for each in written.words))
        case TupleType():
            return Tuple(tuple(TupleAttribute(each.name.name, meant(each.type)) for each in written.attributes))
        case CollectionType():
            bound = int(written.bound.text) if isinstance(written.bound, Number) else None
            return Collection(written.kind, tuple(map(meant, written.elements)), bound)
        case OptionalType():
            return Optional(meant(written.content))
        case _:
            raise AssertionError(written)


@pytest.mark.parametrize("text", [
    "int32", "rstring[10]", "enum{a, b}", "tuple<int32 n, rstring s>", "list<set<uint8>>[5]",
    "map<rstring, list<int64>>",
    "optional<tuple<optional<boolean> b>>",
])  # fmt: skip
def test_a_type_has_the_text_that_means_it(text: str):
    assert str(type_in(text)) == text


@pytest.mark.parametrize(("one", "other", "together"), [
    ("tuple<int32 a, rstring b>", "tuple<int64 c>", "tuple<int32 a, rstring b, int64 c>"),
    ("tuple<int32 a, rstring b>", "tuple<rstring b, int32 a, int32 d>", "tuple<int32 a, rstring b, int32 d>"),
    ("tuple<int32 a>", "tuple<int64 a>", "the attribute a is both int32 and int64"),
    ("tuple<rstring a>", "tuple<rstring[5] a>", "the attribute a is both rstring and rstring[5]"),
])  # fmt: skip
def test_tuple_types_are_joined(one: str, other: str, together: str):
    tuples = [each for each in (type_in(one), type_in(other)) if isinstance(each, Tuple)]
    if together.startswith("tuple"):
        assert str(joined(tuples)) == together
    else:
        with pytest.raises(AttributeConflictError, match=together.replace("[", r"\[")):
            joined(tuples)


@pytest.mark.parametrize(("source", "target"), [
    ("int32", "int32"), ("int32", "optional<int32>"), ("null", "optional<list<int32>>"), ("[]", "list<rstring>"),
    ("{}", "set<int32>"), ("{}", "map<int32, rstring>"), ("{}", "tuple<int32 a>"),
    ("list<int32>", "list<optional<int32>>"), ("list<int32>", "optional<list<optional<int32>>>"),
    ("tuple<int32 a>", "tuple<optional<int32> a>"), ("unknown", "int32"), ("list<rstring>", "unknown"),
    ("optional<list<int32>>", "optional<list<optional<int32>>>"),
])  # fmt: skip
def test_some_values_are_converted_without_a_cast(source: str, target: str):
    assert fits(type_in(source), type_in(target))


@pytest.mark.parametrize(("source", "target"), [
    ("int32", "int64"), ("int32", "float64"), ("optional<int32>", "int32"), ("null", "int32"), ("rstring", "ustring"),
    ("rstring", "rstring[5]"), ("rstring[5]", "rstring"), ("[]", "set<int32>"), ("{}", "list<int32>"),
    ("list<int32>", "list<int64>"), ("list<int32>", "list<int32>[5]"), ("list<int32>", "set<int32>"),
    ("tuple<int32 a, int32 b>", "tuple<int32 b, int32 a>"), ("tuple<int32 a, int32 b>", "tuple<int32 a>"),
    ("int32", "optional<int64>"), ("enum{a, b}", "enum{b, a}"), ("void", "void"), ("void", "int32"),
])  # fmt: skip
def test_some_values_need_a_cast(source: str, target: str):
    assert not fits(type_in(source), type_in(target))


@pytest.mark.parametrize(("one", "other", "together"), [
    ("int32", "int32", "int32"), ("int32", "null", "optional<int32>"), ("optional<int32>", "null", "optional<int32>"),
    ("int32", "optional<int32>", "optional<int32>"), ("int32", "int64", None), ("int32", "unknown", "int32"),
    ("[]", "list<int32>", "list<int32>"), ("list<int32>", "list<optional<int32>>", "list<optional<int32>>"),
    ("{}", "map<int32, int32>", "map<int32, int32>"), ("list<int32>", "set<int32>", None), ("null", "null", "null"),
    ("tuple<int32 a>", "tuple<optional<int32> a>", "tuple<optional<int32> a>"),
    ("tuple<int32 a>", "tuple<int32 b>", None),
    ("list<int32>", "list<rstring>", None), ("optional<int32>", "int64", None), ("void", "int32", None),
])  # fmt: skip
def test_elements_of_a_literal_have_one_type(one: str, other: str, together: str | None):
    left, right = type_in(one), type_in(other)
    expected = None if together is None else type_in(together)
    assert common(left, right) == expected
    assert common(right, left) == expected


def test_empty_elements_take_the_type_of_others():
    some = Collection("list", (INT32,))
    lists = [Collection("map", (RSTRING, each)) for each in (EMPTY_LIST, some)]
    assert common(*lists) == common(*reversed(lists)) == Collection("map", (RSTRING, some))


CASTS = {
    "int32": "int8 uint64 float32 decimal128 rstring ustring enum{a, b} optional<int64> optional<rstring>",
    "float64": "int8 float32 timestamp decimal32 rstring[3]",
    "decimal64": "int32 float64 decimal32",
    "enum{a, b}": "int32 uint8 rstring",
    "timestamp": "float64 rstring",
    "complex32": "complex64 rstring",
    "boolean": "rstring ustring",
    "rstring": "int32 boolean timestamp list<int32> tuple<int32 a> enum{a, b} xml blob rstring[5] optional<int32>",
    "rstring[5]": "rstring ustring int32",
    "blob": "list<uint8> list<uint8>[5] rstring",
    "list<uint8>": "blob list<int32> list<optional<uint8>> complex32",
    "list<int32>": "list<float64> list<int32>[5] rstring complex64 list<rstring>",
    "set<int32>": "set<int64> set<int32>[2]",
    "map<int32, rstring>": "map<int64, ustring> map<int32, rstring>[2]",
    "tuple<int32 a, rstring b>": "tuple<rstring b, int32 a> tuple<int32 a> tuple<optional<int32> a> xml rstring",
    "optional<int32>": "optional<int64> rstring optional<rstring>",
    "xml": "tuple<int32 a> rstring xml",
    "null": "optional<int32> rstring",
    "{}": "set<int32> map<int32, int32> tuple<int32 a>",
}
NO_CASTS = {
    "int32": "boolean timestamp blob list<int32> complex32",
    "float32": "timestamp enum{a, b}",
    "float64": "enum{a, b} boolean complex64",
    "enum{a, b}": "float64 boolean enum{a, c}",
    "timestamp": "int64 float32",
    "boolean": "int32 list<boolean>",
    "complex32": "float32",
    "blob": "list<int8> int32",
    "list<int32>": "set<int32> blob list<list<int32>> list<boolean>",
    "list<list<int32>>": "list<list<int64>> list<rstring>",
    "map<int32, int32>": "set<int32>",
    "tuple<int32 a>": "tuple<int64 a> tuple<int32 b> tuple<int32 a, int32 b>",
    "optional<int32>": "int32 int64 optional<boolean>",
    "null": "int32",
    "void": "int32 rstring void",
}


def pairs(table: dict[str, str]) -> list[tuple[str, str]]:
    """Return (source, target) of a table whose targets have blanks between them, those in brackets aside."""
    return [(source, target) for source, targets in table.items() for target in split_types(targets)]


def split_types(text: str) -> list[str]:
    parts, level, current = [], 0, ""
    for character in text:
        level += (character in "<{") - (character in ">}")
        if character == " " and not level:
            parts.append(current)
            current = ""
        else:
            current += character
    return [*parts, current]


@pytest.mark.parametrize(("source", "target"), pairs(CASTS))
def test_casts_are_allowed(source: str, target: str):
    assert can_cast(type_in(source), type_in(target))
    assert initialises(type_in(source), type_in(target))


@pytest.mark.parametrize(("source", "target"), pairs(NO_CASTS))
def test_some_casts_are_refused(source: str, target: str):
    assert not can_cast(type_in(source), type_in(target))


@pytest.mark.parametrize(("text", "expected", "value"), [
    ("5", "int32", 5), ("5l", "int64", 5), ("5ul", "uint64", 5), ("5lu", "uint64", 5), ("5b", "int8", 5),
    ("200ub", "uint8", 200), ("5h", "int16", 5), ("1.0", "float64", 1.0), ("1.", "float64", 1.0),
    (".5", "float64", 0.5),
    ("1e3", "float64", 1000.0), ("1.5w", "float32", 1.5), ("5f", "float64", 5.0),
    ("0.1w", "float32", 0.10000000149011612),
    ("5fw", "float32", 5.0), ("1.5d", "decimal64", Decimal("1.5")), ("1.5dw", "decimal32", Decimal("1.5")),
    ("1.23456789dw", "decimal32", Decimal("1.234568")), ("5dq", "decimal128", Decimal(5)),
    ("2147483647", "int32", 2147483647),
    ("-2147483648", "int32", -2147483648), ("-128b", "int8", -128), ("0x7F", "int8", 127), ("0xF0", "int8", -16),
    ("0xF0u", "uint8", 240), ("0xfff", "int16", 4095), ("0xFFFFFFFF", "int32", -1),
    ("0x1FFFFFFFFu", "uint64", 8589934591),
    ("18446744073709551615ul", "uint64", 18446744073709551615),
])  # fmt: skip
def test_a_literal_has_a_type_and_a_value(text: str, expected: str, value: float | Decimal):
    literal = number(text.removeprefix("-"), negative=text.startswith("-"))
    assert (str(literal.type), literal.value, type(literal.value)) == (expected, value, type(value))


@pytest.mark.parametrize(("text", "message"), [
    ("2147483648", "2147483648 is outside of int32; its values are -2147483648 to 2147483647"),
    ("128b", "128 is outside of int8; its values are -128 to 127"),
    ("-1u", "-1 is outside of uint32; its values are 0 to 4294967295"),
    ("-129b", "-129 is outside of int8"), ("300ub", "300 is outside of uint8"),
    ("1e400", "1e400 is outside of float64"),
    ("1e39w", "1e39 is outside of float32"), ("1e97dw", "1e97 is outside of decimal32"),
    ("9" * 5000, "9{40}... is outside of int32"), ("5q", "there is no type int128"),
    ("5fb", "there is no type float8"), ("1.5h", "there is no type float16"), ("5db", "there is no type decimal8"),
    ("1.5s", "must not have a point or an exponent"), ("0x10000000000000000", "has more than 64 bits"),
])  # fmt: skip
def test_a_literal_outside_of_its_type_is_refused(text: str, message: str):
    with pytest.raises(LiteralError, match=message):
        number(text.removeprefix("-"), negative=text.startswith("-"))


def numbers_of(type_: Primitive) -> st.SearchStrategy[tuple[Primitive, int | float | Decimal]]:
    if type_ in INTEGERS:
        values: st.SearchStrategy[int | float | Decimal] = st.integers(*range_of(type_))
    elif type_ in FLOATS:
        values = st.floats(allow_nan=False, allow_infinity=False, width=32 if FLOATS[type_] == 32 else 64)
    else:
        digits = 10 ** DECIMALS[type_] - 1
        values = st.builds(
            lambda number, power: Decimal(f"{number}e{power}"), st.integers(-digits, digits), st.integers(-60, 60)
        )
    return st.tuples(st.just(type_), values)


KINDS = sorted(INTEGERS.keys() | FLOATS.keys() | DECIMALS.keys(), key=str)


@examples(300)
@given(st.sampled_from(KINDS).flatmap(numbers_of))
def test_a_number_that_is_written_is_read_as_it_was(typed: tuple[Primitive, int | float | Decimal]):
    type_, value = typed
    tree = expression_of(number_text(type_, value))
    negative = isinstance(tree, Prefix)
    literal = tree.operand if isinstance(tree, Prefix) else tree
    assert isinstance(literal, Number)
    read = number(literal.text, negative=negative)
    assert (read.type, read.value) == (type_, value)
