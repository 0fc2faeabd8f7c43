"""Docstrings name the errors that exist, each with the condition under which it is raised."""

from __future__ import annotations

import builtins
import re

import pytest

from streams_orchestration_tests.sources import PACKAGES, READS_SOURCES, modules, modules_in, of_package, source_of

pytestmark = READS_SOURCES

RAISES = re.compile(r"^Raises:\n((?:    .*\n?|\s*\n)*)", re.MULTILINE)
RAISED = re.compile(r"^    (\w[\w.]*)(?=[:,])", re.MULTILINE)
POINTER = re.compile(r"^    [A-Z][\w., ]*: (?:see|as (?:for|in|of)) `[^`]+`(?:(?:,| and) `[^`]+`)*\.$", re.MULTILINE)
"""An entry of a section `Raises` that names another function in place of the condition."""
SENTENCE_POINTER = re.compile(
    r"\b[Rr]aises?\b[^.;]*?\b(?:as|like|what|errors of)\s+(?:the base class\b|`[^`]+`)"
    r"|\berrors as of `|\bfor another reason of `|\b[Ee]rrors of `[^`]+`[^.]* raised\b"
)
"""A sentence that names another function in place of an error and its condition."""
OF_LIBRARIES = {"AnalysisException", "MultipleResultsFound", "NoResultFound", "PolarsError"}
"""Errors that only libraries raise, and that no module of the product names."""


def raised_by(text: str) -> list[str]:
    """Return the errors that a docstring's section `Raises` names."""
    return [name for section in RAISES.findall(text) for name in RAISED.findall(section)]


def names_of_errors() -> tuple[set[str], list[tuple[str, str]]]:
    """Return all names in the code of the product, and the errors of docstrings with their places."""
    sources = [source_of(path) for path in modules()]
    docstrings = (each for source in sources for each in source.docstrings)
    documented = [(each.place, name) for each in docstrings for name in raised_by(each.text)]
    return {name for source in sources for name in source.names}, documented


def pointers_in(text: str) -> list[str]:
    """Return the entries and sentences that name another function in place of an error and its condition."""
    return [*(entry.strip() for entry in POINTER.findall(text)), *SENTENCE_POINTER.findall(" ".join(text.split()))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "It.\n\nRaises:\n    AError: it is:\n        B: no.\n    c.DError: it is not.",
            ["AError", "c.DError"],
        ),
        ("Do it.\n\nReturns:\n    A: b.", []),
    ],
)
def test_sections_of_errors_are_read(text: str, names: list[str]):
    assert raised_by(text) == names


def test_errors_that_docstrings_name_exist():
    defined, documented = names_of_errors()
    known = defined | OF_LIBRARIES | set(dir(builtins))
    assert [f"{place}: {name}" for place, name in documented if name.rpartition(".")[2] not in known] == []


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ("It.\n\nRaises:\n    AError, BError: see `f` and `C.g`.\n    DError: as for `f`.", 2),
        ("It.\n\nRaises:\n    AError: it is gone; `f` has the conditions.\n    BError: it is old; see `f`.", 0),
        ("It. Raises AError as `f` does; raises like\n`g`. Raise what the base class, or what `h` raises.", 3),
        ("It raises the errors of `f`. Errors of `f` and of a class are raised. A picture; errors as of `f`.", 3),
        ("It raises AError if `a` is gone. Errors of `attempt` pass unchanged. Raises AError as often as it fails.", 0),
    ],
)
def test_errors_without_a_condition_are_found(text: str, pointers: int):
    assert len(pointers_in(text)) == pointers


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_say_when_an_error_is_raised(package: str):
    texts = [(each.place, each.text) for each in of_package(package)]
    texts += [(f"{path.name}:{line}", text) for path in modules_in(package) for line, text in source_of(path).messages]
    found = [f"{place}: {entry}" for place, text in texts for entry in pointers_in(text)]
    assert found == [], "say the condition in a clause, or leave out an error that every function of the kind has"
