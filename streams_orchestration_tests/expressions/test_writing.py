"""The text that is written of a tree is read as the same tree."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.functions.choices import CHOICES
from streams_orchestration.expressions.junctions import between
from streams_orchestration.expressions.parsing import parse
from streams_orchestration.expressions.syntax import Apply, Choice, Convert, Member, Name, Syntax
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.writing import written
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.expressions.generation import expression

NAMES = ("x", "both", "day", "date", "a b", "and", "Interval", "f`g", "select", "any", "\u00e9")
LITERALS = (
    *("1", "-1", "1.5", "-1.5e0", "5L", "-7Y", "1.5F", "3000000000", "-2147483648", "99999999999999999999", "-0.0D"),
    *("'it''s 100\\\\%\\n'", "'$\\u007b'", "NULL", "true", "X'FF'", "DATE '2024-01-01'", "DATE '0001-01-01'"),
    *("TIMESTAMP '2024-01-01 00:00:00.5'", "TIMESTAMP_NTZ '2024-01-01 00:00:00'", "INTERVAL '-3' DAY"),
    *("INTERVAL '-1 02:03:04.5' DAY TO SECOND", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL 5 MINUTES"),
)
ARGUMENTS = {
    **dict.fromkeys(("not", "isnull", "negative", "positive", "~", "upper"), 1),
    **dict.fromkeys(("in", "if", "timestampadd", "timestampdiff", "substring", "overlay"), 3),
    **dict.fromkeys(("position", "locate", "date_add", "datediff", "trim", "regexp", "like", "ilike", "rlike"), 2),
    **dict.fromkeys(("+", "-", "*", "/", "%", "div", "||", "&", "|", "^", "<<", ">>>", "=", "<>", "<", "<=>"), 2),
    **dict.fromkeys(("and", "or", "[]"), 2),
}
TYPES = ("decimal(10, 2)", "array<array<int>>", "struct<a: int, `b c`: string>", "timestamp")


def tree(rnd: random.Random, depth: int) -> Syntax:
    """Return a random tree that need not have types."""
    kind = rnd.random()
    if depth == 0 or kind < 0.2:
        return Name(rnd.choice(NAMES)) if rnd.random() < 0.6 else parse(rnd.choice(LITERALS))
    below = [tree(rnd, depth - 1) for _ in range(3)]
    if kind < 0.28:
        return Convert(below[0], parse_type(rnd.choice(TYPES)), lenient=rnd.random() < 0.5)
    if kind < 0.36:
        return Choice(((below[0], below[1]),) * rnd.choice((1, 2)), rnd.choice((None, below[2])))
    if kind < 0.42:
        return Member(below[0], rnd.choice(NAMES))
    if kind < 0.48:
        return between(below[0], below[1], below[2])
    name = rnd.choice(list(ARGUMENTS))
    return Apply(name, tuple(below[: ARGUMENTS[name]]))


@given(st.integers(min_value=0, max_value=2**32), st.integers(min_value=0, max_value=4))
@examples(2000)
def test_a_tree_is_read_from_its_text(seed: int, depth: int):
    right = tree(random.Random(seed), depth)
    assert parse(written(right)) == right


@given(st.integers(min_value=0, max_value=2**32))
@examples(300)
def test_an_expression_is_the_same_when_it_is_written_anew(seed: int):
    rnd = random.Random(seed)
    text, _ = expression(rnd, rnd.choice((1, 2, 3)))
    assert parse(written(parse(text))) == parse(text)
    assert written(parse(written(parse(text)))) == written(parse(text))


@pytest.mark.parametrize("text", [text for each in (*FUNCTIONS.values(), *CHOICES) for text, _ in each.examples])
def test_an_example_is_the_same_when_it_is_written_anew(text: str):
    assert parse(written(parse(text))) == parse(text)


PLAIN = {
    "(a) + ((b * c))": "a + b * c",
    "(a + b) * c - (d - e)": "(a + b) * c - (d - e)",
    "not (a is not null)": "NOT a IS NOT NULL",
    "a is null and (b = 1 or c)": "a IS NULL AND (b = 1 OR c)",
    "a and b and c and d": "a AND b AND c AND d",
    "a not between 1 and 2": "a NOT BETWEEN 1 AND 2",
    "not a not in (1, 2)": "NOT a NOT IN (1, 2)",
    "`a b`.`c d`[0]": "`a b`.`c d`[0]",
    "case x when 1 then 'a' end": "CASE WHEN x = 1 THEN 'a' END",
    "t - interval 5 minutes - interval 1 day": "t - INTERVAL '0 00:05:00' DAY TO SECOND - INTERVAL '1' DAY",
    "extract(year from d)": "date_part('year', d)",
}


@pytest.mark.parametrize("text", PLAIN)
def test_brackets_stand_where_they_are_needed(text: str):
    assert written(parse(text)) == PLAIN[text]
