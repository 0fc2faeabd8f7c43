"""An expression has one canonical text, which means the same and is read as the same tree."""

from __future__ import annotations

import random

import pytest

from streams_orchestration.expressions.canonical import canonical
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.tree import Literal
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration_tests.expressions.generation import ATTRIBUTES, expression, zone_of

KINDS = {name: parse_type(kind) for name, kind in (
    ("a", "int"), ("b", "bigint"), ("x", "double"), ("m", "decimal(10, 2)"), ("s", "string"), ("t", "timestamp"),
    ("day", "date"), ("end", "int"), ("a b", "int"), ("`", "int"), ("l", "array<int>"),
    ("r", "struct<a: int, `b c`: int>"), ("IterationCount()", "bigint"),
)}  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("a>15", "a > 15", "(a > 15)", "((A)>(15))", "a > 15 -- late"), "a > 15"),
        (("a > 15L", "a > CAST(15 AS BIGINT)"), "CAST(a AS bigint) > 15L"),
        (("b > 15", "b > 15L"), "b > 15L"),
        (("a + a * 2", "a + (a * 2)"), "a + a * 2"),
        (("(a + a) * 2",), "(a + a) * 2"),
        (("a - (a - 1)",), "a - (a - 1)"),
        (("a != 1", "a <> 1"), "a <> 1"),
        (("a BETWEEN 1 AND 3", "a >= 1 AND a <= 3"), "a BETWEEN 1 AND 3"),
        (("a IS NULL", "isnull(a)"), "a IS NULL"),
        (("s = 'it''s'", 's = "it\'s"', r"s = 'it\'s'"), r"s = 'it\'s'"),
        (("IF(a = 1, 2, 3)", "CASE WHEN a = 1 THEN 2 ELSE 3 END"), "CASE WHEN a = 1 THEN 2 ELSE 3 END"),
        (("`end` + `a b`", "`END` + `a b`"), "`end` + `a b`"),
        (("```` + 1",), "```` + 1"),
        (("year(day)", "year(`day`)"), "year(day)"),
        (("r.`b c`", "r.`B C`"), "r.`b c`"),
        (("l[0]", "l[(0)]"), "l[0]"),
        (("x + 1", "x + 1e0"), "x + 1.0D"),
        (("m + 1", "m + 1BD"), "m + 1BD"),
        (("t > '2024-01-01'", "t > TIMESTAMP '2024-01-01'"), "t > TIMESTAMP '2024-01-01 00:00:00Z'"),
        (("t - INTERVAL 90 MINUTES", "t - INTERVAL '01:30' HOUR TO MINUTE"), "t - INTERVAL '0 01:30:00' DAY TO SECOND"),
        (("extract(HOUR FROM t)", "date_part('HOUR', t)"), "date_part('HOUR', t)"),
        (("IterationCount() % 3",), "`IterationCount()` % 3L"),
        (("1 + 2",), "3"),
    ],
)  # fmt: skip
def test_texts_that_mean_the_same_have_one_text(texts: tuple[str, ...], expected: str):
    assert {canonical(typed(text, KINDS)) for text in texts} == {expected}
    assert canonical(typed(expected, KINDS)) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a > 15", "a >= 15"), ("a > 15", "a > 16"), ("a > 15", "b > 15"), ("s = 'a'", "s = 'A'"),
        ("a - (a - 1)", "a - a - 1"), ("CAST(a AS INT)", "CAST(a AS BIGINT)"), ("CAST(s AS INT)", "TRY_CAST(s AS INT)"),
        ("a / 2", "a DIV 2"), ("x + 1.5", "m + 1.5"), ("a AND TRUE", "a OR TRUE"),
    ],
)  # fmt: skip
def test_another_meaning_is_another_text(one: str, other: str):
    kinds = KINDS | ({"a": parse_type("boolean")} if "TRUE" in one else {})
    assert canonical(typed(one, kinds)) != canonical(typed(other, kinds))


@pytest.mark.parametrize("seed", range(8))
def test_a_canonical_text_is_read_as_the_same_tree(seed: int):
    rnd, zone = random.Random(seed), zone_of(("UTC", "Europe/Berlin")[seed % 2])
    for _ in range(400):
        text, node = expression(rnd, 3, zone=zone)
        written = canonical(node, zone)
        again = typed(written, ATTRIBUTES, zone)
        assert again == node or repr(again) == repr(node), (text, written)  # NaN differs from itself
        assert canonical(again, zone) == written


@pytest.mark.parametrize(
    ("text", "zoned"),
    [
        ("t > '2024-01-01'", True), ("t > TIMESTAMP '2024-01-01 00:00:00'", True), ("hour(t) = 1", True),
        ("date_trunc('day', t)", True), ("CAST(s AS TIMESTAMP)", True), ("CAST(array(t) AS STRING)", True),
        ("CAST(t AS DATE)", True), ("CAST(day AS TIMESTAMP)", True), ("from_unixtime(b)", True), ("year(t)", True),
        ("t + INTERVAL 1 DAY", True), ("unix_timestamp(s)", True), ("concat(s, t)", True), ("t > day", True),
        ("to_json(named_struct('t', t))", True), ("CASE WHEN a > 1 THEN hour(t) END", True),
        ("t > TIMESTAMP '2024-01-01 00:00:00Z'", False), ("t > '2024-01-01 00:00:00Z'", False),
        ("unix_micros(t)", False),
        ("CAST(t AS BIGINT)", False), ("year(day)", False), ("day + 1", False),
        ("hour(TIMESTAMP_NTZ '2024-01-01')", False),
        ("a > 15", False), ("unix_timestamp(t)", False), ("from_utc_timestamp(t, 'Asia/Tokyo')", False),
    ],
)  # fmt: skip
def test_a_text_that_means_something_else_in_another_zone_is_another_one(text: str, zoned: bool):
    texts = {
        canonical(typed(text, KINDS, zone), zone) for zone in map(zone_of, ("UTC", "Europe/Berlin", "Asia/Kolkata"))
    }
    assert len(texts) == (3 if zoned else 1)


def test_examples_of_all_functions_have_a_canonical_text():
    for function in FUNCTIONS.values():
        for text, _ in function.examples:
            node = typed(text, {})
            again = typed(canonical(node), {})
            assert repr(again) == repr(node), (text, canonical(node))
            assert isinstance(again, Literal) or canonical(again) == canonical(node)
