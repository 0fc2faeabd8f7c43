"""A name in parentheses before an operand is read as a cast, and read again where the name turns out to be a value."""

from __future__ import annotations

import pytest

from streams_orchestration.spl.language.expressions import expression_at, expression_of
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.language.tokens import tokenize


@pytest.mark.parametrize(("text", "with_type", "with_value"), [
    ("(x) - y * z", "(x) -y * z", "x - y * z"),
    ("(x) - y - z", "(x) -y - z", "x - y - z"),
    ("a * (x) - y", "a * (x) -y", "a * x - y"),
    ("(x)(y)", "(x) y", "x(y)"),
    ("(x)[i].a", "(x) [i].a", "x[i].a"),
    ("(ns::T.x) - 1", "(ns::T.x) -1", "ns::T.x - 1"),
])  # fmt: skip
def test_a_name_in_parentheses_is_a_cast_or_a_value_by_its_definition(text: str, with_type: str, with_value: str):
    tokens = tokenize(text)
    values = frozenset({tokens.texts.index("(")})
    assert text_of(expression_of(text)) == with_type
    assert text_of(expression_at(tokens, 0, values)) == with_value


@pytest.mark.parametrize(("text", "canonical"), [
    ("(x)[1:2]", "x[1:2]"), ("(x)[:2]", "x[:2]"), ("(x)[a ? b : c]", "(x) [a ? b : c]"), ("(x)()", "x()"),
    ("(x)! + 1", "x! + 1"), ("(x)++", "x++"), ("(x)!y", "(x) !y"), ("(x) + y", "x + y"), ("(x.y.z) - 1", "x.y.z - 1"),
    ("(x) y", "(x) y"), ('(x) "y"', '(x) "y"'), ("(x) {a = 1}", "(x) {a = 1}"), ("(x) ~y", "(x) ~y"),
    ("(x) ? y : z", "x ? y : z"),
])  # fmt: skip
def test_the_next_token_tells_a_cast_from_a_value(text: str, canonical: str):
    assert text_of(expression_of(text)) == canonical
