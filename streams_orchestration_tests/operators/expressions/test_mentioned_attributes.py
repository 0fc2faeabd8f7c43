"""Compiling and typing find the same attributes in an expression."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from streams_orchestration.expressions.errors import ExpressionError, UnknownNameError
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.operators.expressions.mentioned_attributes import Mentions, NamingParameters, is_over

NAMES = ["n", "s", "dep_delay"]
WORDS = [
    *("AND", "OR", "NOT", "IS", "IN", "LIKE", "BETWEEN", "NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "END"),
    *("AS", "CAST", "ILIKE", "DIV", "INTERVAL", "DATE", "EXISTS", "ANY", "ARRAY", "STRUCT", "TRIM", "PRIOR", "ISNULL"),
    *("SELECT", "FROM", "OVER", "AT", "MAP", "ESCAPE", "COLLATE", "EXTRACT", "CEIL", "ELSE", "nn"),
]
MARKS = [
    *("=", "<", ">", "<>", "<=", ">=", "!=", "+", "-", "*", "/", "%", "||", "(", ")", ",", "--", "/*", ";", "[", "::"),
    *("LOWER(", "COALESCE(", "CAST(", "1", "2.5", "1e3", "1n", "'a'", "''", "E'n'", ".", '"n"', "`n`"),
]


@pytest.mark.parametrize(
    "text",
    [
        "dep_delay IS NOT NULL AND dep_delay > 15", "s = 'UA'", "true", "LOWER(s) LIKE 'J%'", "n NOT IN (1, 2)",
        "COALESCE(n, 0) + 1", "n BETWEEN 1 AND 3 OR NOT n > -2.5e3", "(n + 1) * (n - 1)", "s = 'it''s' || 'x'", "now()",
        "CAST(n AS DOUBLE) > 1", "N > 1", "n -- nn", "CASE WHEN n > 1 THEN s END", "s.t = 1", "n = \"nn\"", "`n`[0]",
    ],
)  # fmt: skip
def test_an_expression_over_the_given_names_is_recognised(text: str) -> None:
    assert is_over(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "nn > 1",
        "n > nn",
        "LOWER(t)",
        "n > 1 AND",
        "NOT",
        "AND > 1",
        "n nn",
        "",
        "n > `nn`",
        "CASE WHEN nn THEN s END",
        "n IN (1, nn)",
        "(n",
    ],
)
def test_an_expression_with_other_names_and_a_text_that_is_none_are_told_apart(text: str) -> None:
    assert not is_over(text, NAMES)


@pytest.mark.slow
def test_typing_misses_no_attribute_that_compiling_has_seen() -> None:
    """Put texts together from words and marks; an attribute may have the name of a word."""
    draw = random.Random(1)
    plain = unknown = 0
    for _ in range(30_000):
        word = draw.choice(WORDS)
        names = [*NAMES, draw.choice((word, word.lower(), "n"))]
        kinds = draw.choices((names, WORDS, MARKS), (3, 3, 4), k=draw.randint(1, 7))
        text = draw.choice((" ", " ", " ", "")).join(draw.choice(kind) for kind in kinds)
        attributes = {name: parse_type("string" if name == "s" else "int") for name in names}
        seen = is_over(text, names)
        try:
            typed(text, attributes)
        except UnknownNameError:
            unknown += 1
            assert not seen, text
        except ExpressionError:
            continue  # another fault, of which compiling says nothing
        else:
            plain += 1
            assert seen, text
    assert plain > 300
    assert unknown > 300


def test_attributes_are_looked_for_in_every_stream() -> None:
    parameters = SimpleNamespace(filter="n > 1", key=None, output=[{"a": "s"}])
    mentions = NamingParameters(inputs=("key",), expressions=("filter", "output")).mentions(parameters)
    assert mentions.are_known([["n", "s"]], [["a"], ["a", "b"]])
    assert not mentions.are_known([["n", "s"]], [["a"], ["b"]])
    assert not mentions.are_known([["n", "s"], ["n"]], [["a"]])
    assert not mentions.are_known([], [["a"]])
    assert Mentions().are_known([], [])
    assert not Mentions(inputs=["n"]).are_known([["s"]], [])
