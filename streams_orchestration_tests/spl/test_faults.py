"""Mistakes of writing are found at their places, each once, and all in one reading."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from streams_orchestration.spl.language.parsing import parse
from streams_orchestration.spl.language.recovery import DEEPEST
from streams_orchestration.spl.language.tokens import MOST_FINDINGS
from streams_orchestration_tests.spl.programs import CASES, PROGRAMS, WELL_FORMED

FAULTS = list(yaml.safe_load_all((CASES / "spl_faults.yaml").read_text(encoding="utf-8")))
AROUND = {
    "file": "%s",
    "graph": "composite Main { graph\n%s}",
    "body": "composite Main { graph stream<int32 n> A = Custom(In) {\n%s} }",
    "function": "int32 f() {\n%s}",
}
"""Texts around the texts of the cases; each adds one line before."""
EXPECTED = yaml.safe_load((CASES / "spl" / "wrong_syntax" / "expected.yaml").read_text(encoding="utf-8"))


def findings_in(text: str, around: str = "file") -> list[str]:
    before = AROUND[around].partition("%")[0].count("\n")
    found = parse(AROUND[around] % text).findings
    return [f"{each.line - before}:{each.column} {each.code}: {each.message}" for each in found]


@pytest.mark.parametrize("case", FAULTS, ids=lambda each: each["id"])
def test_each_mistake_is_found_at_its_place(case: dict[str, Any]):
    assert findings_in(case["text"], case.get("in", "file")) == case["findings"]


@pytest.mark.parametrize("name", WELL_FORMED)
def test_a_program_without_mistakes_has_no_findings(name: str):
    assert findings_in(WELL_FORMED[name]) == []


def test_the_mistakes_of_a_program_are_found_with_few_others():
    found = parse(PROGRAMS["wrong_syntax"]).findings
    for wanted in EXPECTED["diagnostics"]:
        first, last = wanted["columns"]
        assert [
            each
            for each in found
            if each.line == wanted["line"]
            and first <= each.column <= last
            and all(name in each.message for name in wanted["names"])
        ], wanted
    assert len(found) <= EXPECTED["most"]


def test_reading_ends_with_a_number_of_findings():
    assert len(parse("int32 f() {" + "a = ;\n" * (2 * MOST_FINDINGS) + "}").findings) == MOST_FINDINGS
    assert len(parse("#\n" * (2 * MOST_FINDINGS) + "a").findings) == MOST_FINDINGS


NESTED = {
    "parentheses": ("a = ", "(", "1", ")", ";"),
    "lists": ("a = ", "[", "1", "]", ";"),
    "maps": ("a = ", "{1 : ", "1", "}", ";"),
    "calls": ("a = ", "f(", "1", ")", ";"),
    "signs": ("a = ", "~", "1", "", ";"),
    "casts": ("a = ", "(int32) ", "1", "", ";"),
    "choices": ("a = ", "a ? 1 : ", "1", "", ";"),
    "a chain": ("a = ", "1 + ", "1", "", ";"),
    "attributes": ("a = a", ".a", "", "", ";"),
    "indexes": ("a = a", "[1]", "", "", ";"),
    "blocks": ("", "{", "", "}", ""),
    "conditions": ("", "if (a) ", "b = 1;", "", ""),
    "alternatives": ("", "if (a) { } else ", "b = 1;", "", ""),
    "loops": ("", "while (a) ", "b = 1;", "", ""),
    "types": ("", "list<", "int32", ">", " a;"),
    "bounds": ("list<int32>[", "(rstring[", "1", "]) 1", "] a;"),
}
"""Nested texts: what is before, what opens a level, the innermost part, what closes a level, what is behind."""


@pytest.mark.parametrize("parts", NESTED.values(), ids=NESTED)
def test_nesting_is_read_up_to_a_depth(parts: tuple[str, str, str, str, str]):
    before, opens, inner, closes, behind = parts

    def found(levels: int) -> list[str]:
        text = before + opens * levels + inner + closes * levels + behind + "\n"
        return [each.split(": ")[0].split()[1] for each in findings_in(text + "a = 1;\n", "function")]

    assert found(DEEPEST // 4) == []
    for levels in (2 * DEEPEST, 50 * DEEPEST):
        assert found(levels) == ["SO0701"]


def test_chains_within_chains_are_as_deep_as_their_tree():
    chain = "1" + " + 1" * (DEEPEST // 2)
    text = f"a = ((({chain}) {chain[1:]}) {chain[1:]}) {chain[1:]};\n"
    assert [each.split()[1] for each in findings_in(text, "function")] == ["SO0701:"]
