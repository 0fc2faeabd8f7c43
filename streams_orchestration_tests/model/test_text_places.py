"""A character of a text in a spec is found in the file, however YAML writes the text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml

from streams_orchestration.model.location import Location
from streams_orchestration.model.text_places import TextPlace, place_of_parameter

HEAD = "graph:\n- name: A\n  parameters:\n    filter: true\n"
"""An operator in line 2."""


def place(tmp_path: Path, text: str, parameter: str, value: str, mark: str, line: int = 5) -> TextPlace | None:
    """Return where a part of a value stands in the parameters of an operator."""
    file = tmp_path / "spec.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return place_of_parameter(Location(str(file), line), parameter, value, value.index(mark))


@pytest.mark.parametrize(
    ("written", "value", "line", "column"),
    [
        ("a + bad", "a + bad", 7, 17),
        ("a +\n       bad", "a + bad", 8, 8),
        ("'a || ''x'' + bad'", "a || 'x' + bad", 7, 27),
        ('"a || \\"x\\" + \\u0041 + bad"', 'a || "x" + A + bad', 7, 36),
        ('"a + \\\n        bad"', "a + bad", 8, 9),
        ('"é\\té + bad"', "é\té + bad", 7, 21),
        ("&x !!str a + bad", "a + bad", 7, 26),
        ("|\n      a\n        + bad", "a\n  + bad\n", 9, 11),
        (">- # folded\n\n      a\n      + bad\n\n      + b", "\na + bad\n+ b", 10, 9),
        ("|2\n        a\n      bad", "  a\nbad\n", 9, 7),
    ],
)
def test_a_character_is_found(tmp_path: Path, written: str, value: str, line: int, column: int):
    text = f"- name: B\n  parameters:\n    filter: {written}\n"
    assert place(tmp_path, text, "filter", value, "bad") == TextPlace(line, column)


def test_lists_and_mappings_are_followed_by_key(tmp_path: Path):
    text = "- name: B\n  parameters:\n    index: [a, bad]\n    output:\n      a: bad\n      b: bad\n"
    assert place(tmp_path, text, "index", "bad", "bad") == TextPlace(7, 16)
    assert place(tmp_path, text, "output.b", "bad", "bad") == TextPlace(10, 10)
    assert place(tmp_path, text, "output", "bad", "bad") == TextPlace(9, 10)


@pytest.mark.parametrize(
    "text",
    [
        "- name: B\n  parameters: {filter: a + ${x}}\n- name: C\n  parameters: {filter: a + bad}\n",
        "- name: B\n  parameters: {key: a + bad}\n",
        "- name: B\n",
        "- {name: B, parameters: {filter: a + bad}}, {name: C, parameters: {filter: a + bad}}]",
    ],
    ids=["another operator", "another parameter", "no parameters", "no YAML"],
)
def test_another_text_is_not_taken_for_it(tmp_path: Path, text: str):
    assert place(tmp_path, text, "filter", "a + bad", "bad") is None


def test_operators_in_one_line_cannot_be_told_apart(tmp_path: Path):
    text = "- {name: B, parameters: {filter: a + bad}}\n- [{parameters: {filter: bad}}, {parameters: {filter: bad}}]\n"
    assert place(tmp_path, text, "filter", "a + bad", "bad") == TextPlace(5, 38)
    assert place(tmp_path, text, "filter", "bad", "bad", line=6) is None


def test_a_file_that_is_gone_has_no_places():
    assert place_of_parameter(Location("/nowhere/spec.yaml", 1), "filter", "bad", 0) is None


def test_every_style_of_yaml_is_followed(tmp_path: Path):
    draw = random.Random(3)
    for _ in range(300):
        words = [draw.choice(("a", "'x'", '"y"', "é", "\\", "+", "#", ":")) for _ in range(draw.randint(1, 12))]
        value = "".join(word + draw.choice((" ", "  ", "\n", "\t")) for word in [*words, "§"]).strip()
        style = draw.choice((None, "'", '"', "|", ">"))
        text = yaml.safe_dump([value], default_style=style, width=draw.choice((12, 80)), allow_unicode=True)
        text = "- parameters:\n   filter:\n" + text.replace("- ", "    ", 1).replace("\n", "\n      ")
        if yaml.safe_load(text)[0]["parameters"]["filter"] != value:
            continue
        found = place(tmp_path, text, "filter", value, "§")
        assert found is not None, text
        assert (HEAD + text).split("\n")[found.line - 1][found.column - 1] in "§\\", text
