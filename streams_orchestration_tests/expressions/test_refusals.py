"""An expression that means nothing is refused at its place, in words of its own."""

from __future__ import annotations

import re

import pytest

from streams_orchestration.expressions.errors import ExpressionError, UnknownNameError
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.typing import typed

ATTRIBUTES = {name: parse_type(kind) for name, kind in (
    ("n", "bigint"), ("x", "double"), ("s", "string"), ("t", "timestamp"), ("l", "array<int>"), ("Len", "int"),
    ("r", "struct<a: int>"),
)}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "the text is empty"),
        ("n >", 3, "the expression ends here"),
        ("n > > 1", 4, "'>' does not belong here"),
        ("(n + 1", 6, r"\) is missing"),
        ("n + 'a", 4, "the quote ' is never closed"),
        ("n § 1", 2, "'§' has no meaning"),
        ("3abc", 0, "3abc is no number"),
        ("n, x", 1, "one expression is wanted"),
        ("n AS m", 2, "no name of its own"),
        ("*", 0, "name one attribute"),
        ("(SELECT 1)", 1, "looks at more than one tuple"),
        ("n IN (SELECT 1)", 6, "looks at more than one tuple"),
        ("SUM(n)", 0, "looks at more than one tuple; use an Aggregate"),
        ("COUNT(*)", 6, "more than one tuple; use an Aggregate"),
        ("COUNT(DISTINCT n)", 6, "more than one tuple; use an Aggregate"),
        ("LAG(n) OVER (ORDER BY t)", 7, "window function"),
        ("quantile_cont(n, 0.5)", 0, "more than one tuple"),
        ("now()", 0, "another value after a replay"),
        ("n + current_timestamp", 4, "another value after a replay"),
        ("uper(s)", 0, "no function uper.*upper"),
        ("n + t", 2, r"bigint \+ timestamp is not possible"),
        ("length(l)", 0, r"length\(array<int>\) is not possible; it is called as length\(value string\) -> int"),
        ("l AND true", 0, "a condition is wanted"),
        ("CAST(l AS int)", 0, "array<int> cannot be converted to int"),
        ("CAST(n AS number)", 10, "no type number"),
        ("'a' = 1", 0, "'a' is no bigint"),
        ("CASE WHEN n > 1 THEN t ELSE l END", 0, "types that do not go together: timestamp and array<int>"),
        ("TIMESTAMP '2024-13-01'", 0, "is no timestamp"),
        ("INTERVAL 3 PARSECS", 0, "'parsec' is no unit"),
        ("INTERVAL 1 MONTH 1 DAY", 0, "not both"),
        ("r.b", 1, "no field b"),
        ("n.b", 1, "only structs have fields"),
        ("999Y", 0, "beyond the range of tinyint"),
        ("1e400", 0, "beyond the range of double"),
    ],
)  # fmt: skip
def test_a_fault_is_named_at_its_place(text: str, offset: int, message: str):
    with pytest.raises(ExpressionError) as caught:
        typed(text, ATTRIBUTES)
    assert re.search(message, str(caught.value))
    assert caught.value.offset == offset


@pytest.mark.parametrize(("text", "name"), [("n + dealy", "dealy"), ("`s s`", "s s"), ("upper", "upper")])
def test_an_attribute_that_is_missing_is_named(text: str, name: str):
    with pytest.raises(ExpressionError, match=name):
        typed(text, ATTRIBUTES)


def test_the_nearest_attribute_is_offered():
    with pytest.raises(UnknownNameError, match=r"the attribute ss, .* s") as caught:
        typed("ss = 'a'", ATTRIBUTES)
    assert caught.value.name == "ss"


@pytest.mark.parametrize(
    "text",
    ["(" * 5000 + "n", "NOT " * 5000 + "n = 1", "- " * 5000 + "n", "n" + " + n" * 5000, "r" + ".a" * 5000,
     "CASE WHEN n = 1 THEN " * 5000, "upper(" * 5000, "CAST(" * 5000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_depth_has_a_limit(text: str):
    with pytest.raises(ExpressionError, match="nested more than"):
        typed(text, ATTRIBUTES)


def test_a_long_row_of_conditions_has_little_depth():
    row = typed(" OR ".join(f"n = {number}" for number in range(2000)), ATTRIBUTES)
    assert row_function(row, ["n"], UTC)((1999,)) is True
    assert row_function(row, ["n"], UTC)((2000,)) is False


def test_a_name_like_a_function_is_an_attribute_in_any_case():
    assert typed("len + 1", ATTRIBUTES).type == parse_type("int")
