"""Texts keep the rules for wording: docstrings, help texts, summaries, messages, descriptions and comments."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator

import click
import pytest

from streams_orchestration.cli.entry import streams
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.operators.standard.aggregation.output_functions import OUTPUT_FUNCTIONS
from streams_orchestration_tests.prose import DOCSTRINGS, RULES, all_faults, faults_in, texts_of_page, texts_of_tests
from streams_orchestration_tests.sources import READS_SOURCES, modules, nodes_of, source_of
from streams_orchestration_tests.texts import Text, texts_of

pytestmark = READS_SOURCES

RAISES = re.compile(r"^Raises:\n((?:    .*\n?|\s*\n)*)", re.MULTILINE)
RAISED = re.compile(r"^    (\w[\w.]*)(?=[:,])", re.MULTILINE)
OF_LIBRARIES = {"AnalysisException", "MultipleResultsFound", "NoResultFound", "PolarsError"}
"""Errors that only libraries raise, and that no module of the product names."""
EXAMPLES = [
    ("fragment", "docstring", "What the rows are.", 1),
    ("fragment", "docstring", "Whether it runs.", 1),
    ("fragment", "function", "Do nothing.", 0),
    ("fragment", "exception", "A value that does not fit.", 0),
    ("fragment", "description", "Where reading begins.", 1),
    ("fragment", "helper", "Of rows.", 1),
    ("fragment", "help", "Without a limit.", 1),
    ("fragment", "summary", "Is it empty?", 1),
    ("fragment", "comment of the page", "What cannot be overlooked: failures.", 1),
    ("fragment", "message", "What the rows are", 0),
    ("noun", "function", "The rows.", 1),
    ("noun", "function", "Return the rows.", 0),
    ("noun", "property", "The rows.", 0),
    ("noun", "helper", "The rows.", 1),
    ("noun", "help", "The limit.", 1),
    ("verb", "property", "Return the rows.", 1),
    ("verb", "property", "The rows.", 0),
    ("kind of error", "exception", "Error: the catalog cannot be read.", 1),
    ("kind of error", "exception", "The error that the catalog cannot be read.", 1),
    ("kind of error", "exception", "A value that does not fit.", 1),
    ("kind of error", "exception", "The catalog cannot be read.", 0),
    ("uncounted", "description", "Most rows.", 1),
    ("uncounted", "description", "Rows at most.", 0),
    ("no subject", "comment", "of it", 1),
    ("no subject", "comment of tests", "Whose row", 1),
    ("no subject", "comment", "the row", 0),
    ("no sentence", "help", "deploy it", 1),
    ("no sentence", "summary", "Returns the rows\n\nThe last ones.", 1),
    ("no sentence", "help", "Deploy it. [default: 3]", 0),
    ("said twice", "docstring", "Return the rows of it. Return the rows of it.", 1),
    ("said twice", "docstring", "Return the rows.\n\n>>> a b c d\n>>> a b c d\n", 0),
    ("vague", "function", "It stands there anew.", ["stands", "anew"]),
    ("vague", "description", "Return what is left of it, or brings it back", ["what is", "of it", "brings it back"]),
    ("vague", "help", "Return that of the row.", ["that of"]),
    ("vague", "comment", "the plan before", ["the plan before"]),
    ("vague", "comment of tests", "it went by", ["went by"]),
    ("vague", "docstring", "Understand what the outcome means, offset by offset.", []),
    ("unidiomatic", "message", "x is no type, y is none of these", ["is no ", "is none"]),
    ("unidiomatic", "message", "there is no table t; it is no longer read, no newer; None if there is none", []),
    ("unidiomatic", "comment", "it is int, and this is string; it has no key any more", [", and this is", "any more"]),
    ("unidiomatic", "function", "those of the state; it goes on with what is left", ["those of", "goes on", "what is"]),
    ("riddle", "message", " stands twice, ", ["stands"]),
    ("riddle", "message", "reverted, the plan before it runs", ["the plan before"]),
    ("riddle", "message", "Bring it back, or start anew; int is wanted", ["Bring it back", "anew", "is wanted"]),
    ("riddle", "message", "the text behind a line; lag behind the watermark; T stands for any type", ["behind a"]),
    ("look", "docstring", "Two looks at a unit with news, which is looked at.", ["Two looks", "news", "is looked at"]),
    ("look", "message", "a value that looks like a key; look at the log, or look it up by a look-up", []),
    ("idiom", "message", "Look at the log; it was turned down; behind the trial; look it up", 3),
    ("pointer", "function", "It.\n\nRaises:\n    AError, BError: see `f` and `C.g`.\n    DError: as for `f`.", 3),
    ("pointer", "function", "It.\n\nRaises:\n    AError: it is gone; `f` has the conditions.\n    B: old; see `f`.", 0),
    ("pointer", "message", "Raises AError as `f` does; raises like\n`g`. Raise what the base class, or `h` raises.", 3),
    ("pointer", "docstring", "It raises the errors of `f`. Errors of `f` are raised. A picture; errors as of `f`.", 3),
    (
        "pointer",
        "function",
        "Do it; see `f`, and `g` for errors. A: for a cause of `f`, `g` and `h`. Errors of `f` pass.",
        2,
    ),
    (
        "pointer",
        "function",
        "For ValueErrors see `check` and `C`. It is gone for a reason. It has `a`, `b` and `c`.",
        1,
    ),
    ("pointer", "docstring", "It raises AError if `a` is gone. Errors of `g` pass. Raises AError as often as it.", 0),
]
"""Rule, kind and text, and the faults of the text or their number."""


def help_texts(command: click.Command, path: str) -> Iterator[Text]:
    """Yield the help texts of a command, its options and the commands below it, each with its place."""
    yield Text("help", path, command.help or "")
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield Text("help", f"{path} --{parameter.name}", parameter.help or "")
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from help_texts(below, f"{path} {name}")


def read(source: str) -> list[Text]:
    """Return the texts of a module."""
    return list(texts_of("m.py", source, nodes_of(source)))


def raised_by(text: str) -> list[str]:
    """Return the errors that a docstring's section `Raises` names."""
    return [name for section in RAISES.findall(text) for name in RAISED.findall(section)]


@pytest.mark.parametrize(("rule", "kind", "text", "faults"), EXAMPLES)
def test_a_rule_finds_its_faults(rule: str, kind: str, text: str, faults: list[str] | int):
    found = [fault for name, fault in faults_in([Text(kind, "m.py", text)]) if name == rule]
    assert found == [f"m.py: {each}" for each in faults] if isinstance(faults, list) else len(found) == faults


def test_each_rule_and_each_kind_of_text_has_an_example():
    shown = {(rule, kind) for rule, kind, _, faults in EXAMPLES if faults}
    assert {rule for rule, _ in shown} == set(RULES) - {"silent", "hidden act"}, "those two are tried below"
    assert {kind for _, kind in shown} == {kind for rule in RULES.values() for kind in rule.kinds}


@pytest.mark.parametrize("rule", RULES)
def test_texts_keep_a_rule(rule: str):
    assert all_faults()[rule] == [], RULES[rule].remedy


def test_help_texts_and_summaries_of_functions_keep_the_rules():
    summaries = (Text("summary", each.name, each.summary) for each in (*FUNCTIONS.values(), *OUTPUT_FUNCTIONS))
    assert list(faults_in([*help_texts(streams, "streams"), *summaries])) == []


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('def f():\n    """Return."""\n    return "one word", "oneword", f"in {f}"', ["function 1", "message 3"]),
        ('class C:\n    """The rows."""\n    a = 1\n    """Of the first row."""', ["docstring 1", "docstring 4"]),
        ('class C:\n    @property\n    def p(self):\n        """The rows."""', ["property 3"]),
        ('class C:\n    @cached_property\n    def p(self):\n        """The rows."""', ["property 3"]),
        ('class E(Exception):\n    """It."""', ["exception 1"]),
        ('class E(errors.CatalogError):\n    """It."""', ["exception 1"]),
        ('Field(description=("Most " "rows."))\nF(title="Rows")', ["message 1", "description 1"]),
        ("a = 1  # of it\n# one\n# text\nb = 2  # noqa: E1 - a reason", ["comment 1", "comment 2", "comment 4"]),
        ("if a:\n    # one\n# another\n    pass\n'# none'", ["comment 2", "comment 3"]),
    ],
)
def test_texts_are_read_with_their_kinds_and_lines(source: str, texts: list[str]):
    assert [f"{each.kind} {each.place.partition(':')[2]}" for each in read(source)] == texts


def test_lines_of_a_comment_are_joined_and_parts_of_a_description_too():
    source = 'Field(description=("Most " "rows."))\n# one\n# text\nb = 2  # noqa: E1 - a reason\n'
    texts = [each.text for each in read(source) if each.kind != "message"]
    assert texts == ["Most rows.", "one text", "a reason"]


@pytest.mark.parametrize(
    ("source", "openings"),
    [
        ('def f(a: int) -> str:\n    """The rows."""', ["The rows."]),
        ('class A:\n    def f(\n        self, a: int,\n    ) -> str:\n        """Of rows."""', ["Of rows."]),
        ('@fixture\ndef f():\n    """The rows."""\n@property\ndef g(self):\n    """The rows."""', []),
        ('def test_f():\n    """The rows."""', []),
    ],
)
def test_docstrings_of_helpers_of_tests_are_read(source: str, openings: list[str]):
    assert [each.text for each in texts_of_tests("m.py", source)] == openings


def test_comments_of_the_page_are_read():
    source = "// One\n// comment.\n\n/** Another. */\nconst a = 1; // none\n  /**\n   * @param b is c.\n   */\n"
    found = [(each.place, " ".join(each.text.split())) for each in texts_of_page("m.ts", source)]
    assert found == [("m.ts:1", "One comment."), ("m.ts:4", "Another."), ("m.ts:6", "is c.")]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('def f() -> int | None:\n    """Return a."""\ndef g() -> int | None:\n    """Return a; None if b."""', [1]),
        ('class C:\n    a: int | None\n    """Return a."""\n    b: int | None\n    """B; None if c."""', [3]),
        ('class C:\n    def __init__(self):\n        self.a: int | None = 1\n        """Return a."""', [4]),
        ('a: int | None = 1\n"""Return a."""', []),
    ],
)
def test_silent_docstrings_are_found(source: str, lines: list[int]):
    found = [place for rule, place in faults_in(read(source)) if rule == "silent"]
    assert found == [f"m.py:{line}: Return a." for line in lines]


@pytest.mark.parametrize(
    ("source", "acts"),
    [
        ('def f():\n    """Return a."""\n    self.report(a)', ["report"]),
        ('def f():\n    """Return a; report b."""\n    self.report(a)', []),
        ('def f():\n    """Yield a."""\n    if a.unlink():\n        c.kill(b)', ["unlink"]),
        ('def f():\n    """Return a."""\n    b.execute(insert(a))', ["insert"]),
        ('def f():\n    """Return a."""\n    b.insert(0, a)\n    b.update(a)', []),
        ('def f():\n    """Take a."""\n    a.unlink()', []),
        ("def f():\n    a.unlink()", []),
    ],
)
def test_hidden_acts_are_found(source: str, acts: list[str]):
    found = [fault for rule, fault in faults_in(read(source)) if rule == "hidden act"]
    assert found == [f"m.py:1: {act}" for act in acts]


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
    sources = [source_of(path) for path in modules()]
    known = {name for source in sources for name in source.names} | OF_LIBRARIES | set(dir(builtins))
    texts = [each for source in sources for each in source.texts if each.kind in DOCSTRINGS]
    raised = [(each.place, name) for each in texts for name in raised_by(each.text)]
    assert [f"{place}: {name}" for place, name in raised if name.rpartition(".")[2] not in known] == []
