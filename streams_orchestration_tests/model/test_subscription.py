"""Subscriptions: which exported streams an Import is about."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.model.subscription import check_properties, parse_subscription

STREAM = {"kind": "delays", "level": 2, "rate": 0.5, "tags": ["urgent", "eu"], "mixed": [1, "eu"]}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ('kind == "delays"', True),
        ("kind == 'delays' && level >= 2", True),
        ('kind != "delays" || level < 3', True),
        ('kind == "delays" && level > 2', False),
        ('!(kind == "delays")', False),
        ('!kind == "arrivals"', True),
        ("2 <= level", True),
        ("rate == 5e-1 && level == 2.0", True),
        ('"eu" in tags', True),
        ('"us" in tags || "eu" in tags && level == 2', True),
        ('("us" in tags || "eu" in tags) && level == 3', False),
        ('level == "2"', False),
        ("absent == 1", False),
        ("absent != 1", False),
        ('"eu" in kind', False),
        ("kind == tags", False),
        ("tags < mixed", False),
        ("tags <= tags", True),
    ],
)
def test_a_subscription_is_a_condition_over_properties(text: str, matches: bool):
    assert parse_subscription(text)(STREAM) is matches


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "at its end"),
        ("kind", "at its end"),
        ("kind ==", "at its end"),
        ('kind = "delays"', "at '= "),
        ('kind == "delays" and level == 2', "at 'and"),
        ('(kind == "delays"', "at its end"),
        ('kind == "delays")', "at ')'"),
        ("1 == 2", "at '1 == 2'"),
        ('kind in "delays"', "at 'kind"),
        ('kind == "delays', "at '\"delays'"),
        ("level == $", "at '$'"),
    ],
)
def test_a_wrong_subscription_is_refused_with_its_place(text: str, place: str):
    with pytest.raises(ValueError, match="is not a subscription") as raised:
        parse_subscription(text)
    assert place in str(raised.value)


@pytest.mark.parametrize(("before", "after"), [("!" * 3000 + "(", ")"), ("(" * 3000, ")" * 3000)])
def test_a_subscription_that_is_nested_too_deeply_is_refused(before: str, after: str):
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        parse_subscription(f"{before}level == 2{after}")
    few = f"{before[:50]}(level == 2){')' * before[:50].count('(')}"
    assert parse_subscription(few)(STREAM)


@pytest.mark.parametrize(
    ("properties", "named"),
    [({"kind": "x", "n": 3, "f": 1.5, "tags": ["a", 1]}, None), ({"on": True}, "on"), ({"a": {}}, "a"),
     ({"a": [None]}, "a"), ("kind", "mapping"), ({}, None)],
)  # fmt: skip
def test_properties_are_numbers_texts_and_lists(properties: Any, named: str | None):
    problem = check_properties(properties)
    assert (problem is None) if named is None else (problem is not None and named in problem)
