"""Damaged programs raise nothing, and what is wrong is found where it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.spl.language.parsing import Parsed, parse
from streams_orchestration.spl.language.tokens import KEYWORDS, MOST_FINDINGS, Tokens, tokenize
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.spl.programs import WELL_FORMED
from streams_orchestration_tests.spl.unit_texts import text_of_unit

TOKENS = {name: tokenize(text) for name, text in WELL_FORMED.items()}
MARKS = ("a", "b", "$c", "::", "1", "1.5", "//", "/*", "*/", '"s"', "?:", *":;,.()[]{}<>=+-!?@\n\"'")
SOUP = (*sorted(KEYWORDS), *MARKS)


def written(tokens: Tokens, index: int) -> tuple[int, int]:
    """Return the offsets at which a token begins and ends."""
    return tokens.offsets[index], tokens.offsets[index] + len(tokens.texts[index])


def without(tokens: Tokens, index: int) -> str:
    first, end = written(tokens, index)
    return tokens.text[:first] + " " * (end - first) + tokens.text[end:]


def doubled(tokens: Tokens, index: int) -> str:
    first, end = written(tokens, index)
    return f"{tokens.text[:end]} {tokens.text[first:]}"


def swapped(tokens: Tokens, index: int) -> str:
    (first, end), (start, last) = written(tokens, index), written(tokens, index + 1)
    text = tokens.text
    return text[:first] + text[start:last] + text[end:start] + " " + text[first:end] + text[last:]


def assert_sound(parsed: Parsed) -> None:
    """Assert that findings stand within the text, in order, and that the tree of the rest has a text."""
    lines = parsed.tokens.text.split("\n")
    places = [(each.line, each.column) for each in parsed.findings]
    assert places == sorted(places)
    assert len(places) <= MOST_FINDINGS
    assert all(1 <= column <= len(lines[line - 1]) + 1 for line, column in places)
    text_of_unit(parsed.unit)


@pytest.mark.slow
@examples(300)
@given(st.sampled_from(sorted(TOKENS)), st.data(), st.sampled_from([without, doubled, swapped]))
def test_a_damaged_program_is_read_to_its_end(name: str, data: st.DataObject, damage: Callable[[Tokens, int], str]):
    tokens = TOKENS[name]
    assert_sound(parse(damage(tokens, data.draw(st.integers(0, len(tokens.texts) - 3)))))


@pytest.mark.slow
@examples(300)
@given(st.lists(st.sampled_from(SOUP), max_size=60).map(" ".join) | st.text(max_size=60))
def test_any_text_is_read_to_its_end(text: str):
    assert_sound(parse(text))


FOUND = {";": 0.99, ")": 0.9, ":": 0.95, ",": 0.95, "=": 0.8, "(": 0.8, "]": 0.6, "{": 0.4, "}": 0.3}
"""For each mark, the least share of its losses that are reported at the token behind it.

Without a mark, the tokens after it may mean something else: a semicolon after `enum {a}` parts two types. A lost brace
shows where nothing fits without it.
"""


@pytest.mark.slow
@pytest.mark.parametrize(("mark", "share"), FOUND.items())
def test_a_lost_mark_is_found_at_the_token_behind_it_with_few_others(mark: str, share: float):
    at_next: list[bool] = []
    for tokens in TOKENS.values():
        for index in [index for index, text in enumerate(tokens.texts) if text == mark][::5]:
            places = [(each.line, each.column) for each in parse(without(tokens, index)).findings]
            at_next.append(tokens.place(index + 1) in places)
            assert len(places) <= 6
    assert sum(at_next) >= share * len(at_next)
