"""Random typed expressions over the attributes of one port, and random tuples for them."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st

from streams_orchestration.spl.functions.signatures import builtin
from streams_orchestration.spl.types.types import (
    BOOLEAN,
    FLOAT64,
    FLOATS,
    INT32,
    INT64,
    INTEGERS,
    RSTRING,
    UINT8,
    Collection,
    Optional,
    Primitive,
    Tuple,
    TupleAttribute,
    Type,
    range_of,
)
from streams_orchestration.spl.typing import typed
from streams_orchestration.spl.typing.spans import Source, Span

SPAN = Span(Source.of("x", "Main.spl", 7), 0, 0)
NUMBERS: list[Primitive] = [INT32, INT64, UINT8, Primitive("int8"), Primitive("uint64"), FLOAT64, Primitive("float32")]
TYPES: list[Type] = [*NUMBERS, BOOLEAN, RSTRING]
PORT = Tuple((
    *(TupleAttribute(f"{each}_{letter}", each) for each in TYPES for letter in "ab"),
    TupleAttribute("maybe", Optional(INT32)),
))  # fmt: skip
SIMPLE_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    2.0**31,
    -(2.0**63),
    2.0**64,
    1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
]


@functools.cache
def values_of(type_: Type) -> st.SearchStrategy[Any]:
    """Return values of a type, corner cases more often."""
    if isinstance(type_, Optional):
        return st.none() | values_of(type_.content)
    if type_ in INTEGERS:
        assert isinstance(type_, Primitive)
        low, high = range_of(type_)
        return st.sampled_from([low, high, 0, 1, 7, *([-1, -7] if low else [])]) | st.integers(low, high)
    if type_ in FLOATS:
        narrow = type_ == Primitive("float32")
        return st.sampled_from([each for each in SIMPLE_FLOATS if not narrow or each not in (0.1, 1e300)])
    return st.booleans() if type_ == BOOLEAN else st.text("aZé1", max_size=4)


def tuples() -> st.SearchStrategy[dict[str, Any]]:
    """Return values of all attributes of the port."""
    return st.fixed_dictionaries({each.name: values_of(each.type) for each in PORT.attributes})


@functools.cache
def expressions(type_: Type, depth: int = 3) -> st.SearchStrategy[typed.Expression]:
    """Return expressions of a type."""
    names = [each.name for each in PORT.attributes if each.type == type_]
    leaves = st.sampled_from(names).map(lambda name: typed.PortAttribute(SPAN, type_, "In", name))
    constants = values_of(type_).map(lambda value: typed.Constant(SPAN, type_, value))
    if depth == 0:
        return leaves | leaves | constants
    inner = [leaves, _choices(type_, depth), _casts(type_, depth)]
    if type_ == BOOLEAN:
        inner += [_truths(depth)]
    elif type_ == RSTRING:
        inner += [_binary(["+"], RSTRING, type_, depth), _calls("upper", (RSTRING,), type_, depth)]
    else:
        inner += [_arithmetic(type_, depth)]
    return st.one_of(inner)


def _binary(operators: list[str], operands: Type, type_: Type, depth: int) -> st.SearchStrategy[typed.Expression]:
    sides = expressions(operands, depth - 1)
    return st.builds(
        lambda operator, one, other: typed.Binary(SPAN, type_, operator, one, other),
        *(st.sampled_from(operators), sides, sides),
    )


def _arithmetic(type_: Type, depth: int) -> st.SearchStrategy[typed.Expression]:
    if type_ in FLOATS:
        found = _binary(["+", "-", "*", "/"], type_, type_, depth)
        return found | _calls("sqrt", (type_,), type_, depth) if type_ == FLOAT64 else found
    found = _binary(["+", "-", "*", "&", "|", "^", "/", "%"], type_, type_, depth)
    divisors = values_of(type_).map(lambda value: typed.Constant(SPAN, type_, value))
    amounts = st.integers(0, 63).map(lambda value: typed.Constant(SPAN, type_, value))
    found |= st.builds(
        lambda operator, one, by, other: typed.Binary(SPAN, type_, operator, one, by if operator in "/%" else other),
        *(st.sampled_from(["/", "%", "<<", ">>"]), expressions(type_, depth - 1), divisors, amounts),
    )
    found |= st.builds(
        lambda operator, operand: typed.Prefix(SPAN, type_, operator, operand),
        *(st.sampled_from("-~"), expressions(type_, depth - 1)),
    )
    if type_ == INT32:
        found |= _calls("length", (RSTRING,), type_, depth) | _calls("findFirst", (RSTRING, RSTRING), type_, depth)
        found |= expressions(INT32, depth - 1).map(_or_else)
    return found | _calls("max", (type_, type_), type_, depth)


def _or_else(other: typed.Expression) -> typed.Expression:
    return typed.Binary(SPAN, INT32, "?:", typed.PortAttribute(SPAN, Optional(INT32), "In", "maybe"), other)


def _calls(name: str, types: tuple[Type, ...], result: Type, depth: int) -> st.SearchStrategy[typed.Expression]:
    signature = next(each for each in builtin(name) if len(each.parameters) == len(types))
    arguments = st.tuples(*(expressions(each, depth - 1) for each in types))
    return arguments.map(lambda given: typed.Call(SPAN, result, signature, given))


def _choices(type_: Type, depth: int) -> st.SearchStrategy[typed.Expression]:
    sides = expressions(type_, depth - 1)
    return st.builds(
        lambda truth, one, other: typed.Choice(SPAN, type_, truth, one, other),
        *(expressions(BOOLEAN, depth - 1), sides, sides),
    )


def _casts(type_: Type, depth: int) -> st.SearchStrategy[typed.Expression]:
    if type_ == BOOLEAN:
        return expressions(BOOLEAN, depth - 1)
    sources = [each for each in TYPES if each not in (type_, RSTRING) and (each != BOOLEAN or type_ == RSTRING)]
    if type_ == Primitive("float32"):
        sources = [each for each in sources if each not in INTEGERS or INTEGERS[each] <= 32]
    return st.sampled_from(sources).flatmap(
        lambda source: expressions(source, depth - 1).map(lambda operand: typed.Cast(SPAN, type_, operand))
    )


def _truths(depth: int) -> st.SearchStrategy[typed.Expression]:
    compared = st.sampled_from([*NUMBERS, RSTRING]).flatmap(
        lambda type_: _binary(["==", "!=", "<", ">"], type_, BOOLEAN, depth)
    )
    negated = expressions(BOOLEAN, depth - 1).map(lambda operand: typed.Prefix(SPAN, BOOLEAN, "!", operand))
    maybe = typed.PortAttribute(SPAN, Optional(INT32), "In", "maybe")
    there = st.just(typed.Postfix(SPAN, BOOLEAN, "??", maybe))
    members = st.lists(values_of(INT32), min_size=1, max_size=3).map(
        lambda values: typed.Binary(
            *(SPAN, BOOLEAN, "in", typed.PortAttribute(SPAN, INT32, "In", "int32_a")),
            typed.ListOf(
                SPAN, Collection("list", (INT32,)), tuple(typed.Constant(SPAN, INT32, value) for value in values)
            ),
        )
    )
    return compared | negated | there | members | _binary(["&&", "||", "&", "|"], BOOLEAN, BOOLEAN, depth)
