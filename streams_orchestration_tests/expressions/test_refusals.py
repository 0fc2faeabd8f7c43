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
        ("3abc", 0, "3abc is not a number"),
        ("n, x", 1, "one expression is expected"),
        ("n AS m", 2, "no name of its own"),
        ("*", 0, "name one attribute"),
        ("(SELECT 1)", 1, "reads more than one tuple"),
        ("n IN (SELECT 1)", 6, "reads more than one tuple"),
        ("SUM(n)", 0, "reads more than one tuple; use an Aggregate"),
        ("COUNT(*)", 6, "more than one tuple; use an Aggregate"),
        ("COUNT(DISTINCT n)", 6, "more than one tuple; use an Aggregate"),
        ("LAG(n) OVER (ORDER BY t)", 7, "window function"),
        ("quantile_cont(n, 0.5)", 0, "more than one tuple"),
        ("now()", 0, "another value after a replay"),
        ("n + current_timestamp", 4, "another value after a replay"),
        ("uper(s)", 0, "no function uper.*upper"),
        ("n + t", 2, r"bigint \+ timestamp is not possible"),
        ("length(l)", 7, r"length: value is array<int>, but string or binary is expected; it is called as"),
        ("l AND true", 0, "a condition is expected"),
        ("CAST(l AS int)", 0, "array<int> cannot be converted to int"),
        ("CAST(n AS number)", 10, "no type number"),
        ("'a' = 1", 0, "'a' is not a valid bigint"),
        ("CASE WHEN n > 1 THEN t ELSE l END", 0, "types that cannot be combined: timestamp and array<int>"),
        ("TIMESTAMP '2024-13-01'", 0, "is not a valid timestamp"),
        ("INTERVAL 3 PARSECS", 0, "'parsec' is not a unit"),
        ("INTERVAL 1 MONTH 1 DAY", 0, "not both"),
        ("r.b", 1, "no field b"),
        ("n.b", 1, "only structs have fields"),
        ("999Y", 0, "beyond the range of tinyint"),
        ("1e400", 0, "beyond the range of double"),
        ("timestampadd(s, 1, t)", 13, "unit is string, but constant string is expected"),
        ("timestampadd('x', 1, t)", 0, "timestampadd: 'x' is not a unit; the units are microsecond"),
        ("timestampdiff(s, t, t)", 14, "unit is string, but constant string is expected"),
        ("timestampdiff('HOUR', t, t)", 0, "timestampdiff: 'HOUR' is not a unit"),
        ("9" * 5000, 0, "has more than 38 digits"),
        ("9" * 5000 + "L", 0, "beyond the range of bigint"),
        ("1e50BD", 0, "1e50BD has more than 38 digits"),
        ("INTERVAL '1e999999999' SECOND", 0, "an interval of 1e999999999 seconds is too long"),
        ("INTERVAL 999999999999 DAYS", 0, "the interval is too long"),
        ("X'12  34'", 0, "X'12  34' is not written in hexadecimal digits"),
        ("n > 1 && x > 1", 7, "AND joins conditions"),
        ("n ** 2", 3, r"power\(a, b\)"),
        ("n // 2", 3, "a DIV b"),
        ("n => 2", 3, "write >="),
        ("n > 1 ? 1 : 2", 6, "IF"),
        ("n > 1; x > 1", 5, "one expression is expected"),
        ("s = \u201cUA\u201d", 4, "straight quotes"),
        ("s.upper()", 7, r"functions have no dots: upper\(value\)"),
        ("n mod 2", 2, "a % b"),
        ("n NOT NULL", 2, "IS NOT NULL"),
        ("n IS 1", 5, "NULL, TRUE, FALSE or DISTINCT FROM is missing"),
        ("n x", 2, "an operator between two values is missing"),
        ("n + ", 4, "a value is missing"),
        ("end = 1", 0, "written `end`"),
        ("case > 1", 0, "written `case`"),
        ("EXISTS (SELECT 1)", 8, "more than one tuple; use a Sql operator"),
        ("transform(l, e -> e + 1)", 15, "use a Custom operator"),
        ("[1, 2]", 0, r"array\(1, 2\)"),
        ("n > 1,000", 5, "numbers have no commas"),
        ("s IN 'UA'", 5, r"\( is missing"),
        ("n BETWEEN 1, 2", 11, "AND is missing"),
        ("CASE WHEN n > 1 'a' END", 16, "THEN is missing"),
        ("CAST(n, INT)", 6, r"CAST\(value AS INT\)"),
        ("CAST(n AS VARCHAR(10))", 10, "the nearest is string"),
        ("CAST(n AS INTEGR)", 10, "the nearest is integer"),
        ("'s' > 1", 0, "quotes make a text; write the attribute s without them"),
        ("substr(s)", 0, "substr takes 2 to 3 arguments, 1 is given"),
        ("sqrt()", 0, "sqrt takes 1 argument, 0 are given"),
        ("length(upper(s), l)", 0, "length takes 1 argument, 2 are given"),
        ("contains(s, l)", 12, r"contains: part is array<int>, but string or binary is expected"),
        ("round(x, n)", 0, "the number of digits must be constant"),
        ("from_json(s, 'a integr')", 0, "'a integr' is not a type: there is no type integr"),
        ("extract(yer FROM t)", 0, "'yer' is not a part of a time; the parts are"),
        ("IF(n > 1, 2)", 0, r"if\(condition, value, otherwise\)"),
        ("nvl(n)", 0, r"nvl\(value, otherwise\)"),
        ("t + 1", 2, "add an interval"),
        ("l[s]", 1, "a whole number is expected in the brackets"),
        ("NOT n", 0, "NOT takes a condition, this is of type bigint"),
        ("rand()", 0, "a hash of an attribute"),
        ("unix_timestamp()", 0, "another value after a replay"),
        ("explode(l)", 0, "several tuples of one"),
        ("strftime(t, 'x')", 0, "the nearest is date_format"),
        ("system('ls')", 0, "no function system; docs/functions.md lists all"),
        ("n::", 3, "the expression ends here; a type is missing"),
        ("n:::int", 3, "':' does not belong here; a type is missing"),
        ("CAST(n AS )", 10, r"'\)' does not belong here; a type is missing"),
        ("n IN ()", 6, r"'\)' does not belong here; a value is missing"),
        ("s LIKE 'a' ESCAPE 'ab'", 18, "ESCAPE takes one character"),
        ("s LIKE 'a' ESCAPE s", 18, "ESCAPE takes one character"),
        ("s = '\\uD800'", 4, "has an escape that is not a character"),
        ("s = '\\U00110000'", 4, "has an escape that is not a character"),
        ("s = '\\UFFFFFFFF'", 4, "has an escape that is not a character"),
        ("timestampadd(DAY, t)", 0, "timestampadd takes 3 arguments, 2 are given"),
        ("getChannel() = 1", 0, r"\$\{getChannel\(\)\}"),
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


def test_an_attribute_stands_without_the_name_of_its_stream():
    with pytest.raises(UnknownNameError, match="without the name of its stream: x"):
        typed("flights.x > 1", ATTRIBUTES)


def test_all_attributes_are_listed_where_none_is_near():
    with pytest.raises(
        UnknownNameError, match=r"it has n, x, s, t, l, Len, r\. A text is written in quotes: 'LaGuardia'"
    ):
        typed("s = LaGuardia", ATTRIBUTES)


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
