"""Docstrings, help texts and summaries name their subject first, and say each thing once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import click
import pytest

from streams_orchestration.cli.entry import streams
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.operators.standard.aggregation.output_functions import OUTPUT_FUNCTIONS
from streams_orchestration_tests.sources import (
    PACKAGES,
    READS_SOURCES,
    ROOT,
    Docstring,
    comments,
    descriptions,
    docstrings,
    hidden_acts,
    messages,
    modules_in,
    nodes_of,
    of_package,
    silent,
    source_of,
)
from streams_orchestration_tests.vague import UNIDIOMATIC, VAGUE

pytestmark = READS_SOURCES

FRAGMENT = re.compile(
    r"(What|Of|That|In which|Where|Those|How|Whether|Why|Which|When|As|With|Without|Is|Are"
    r"|Do(?! nothing| something| the)|Does|May|Has|Can)\b"
)
"""Openings of relative clauses, fragments and questions."""
UNCOUNTED = re.compile(r"(Most|Into)\b")
"""Openings of a description that name neither the value nor its unit."""
NOUN = re.compile(r"(The|A|An|All|Both|Each|Every|Everything|Its|None|Nothing|One|Some|True|False)\b")
"""Openings of a function's docstring that name a value and leave out the verb."""
VERB = re.compile(
    r"(Returns?|Gives?|Gets?|Yields?|Computes?|Makes?|Finds?|Reads?|Loads?|Lists?|Counts?|Raises?|Opens?|Writes?)\b"
)
"""Openings of a property's docstring that say what it does, and not what its value is."""
KIND_OF_ERROR = re.compile(r"(Errors?\b|(The|An|Any|A) errors?\b|(The|An?) [\w-]+ (that|which)\b|The end of\b)")
"""Openings of an exception's docstring that describe the exception, and not the fault."""
RIDDLES = re.compile(
    r"\b(?:stood|stands?(?! for\b)|(?:goes|go) (?:with|together)|(?:is|are) wanted|nothing says|what comes|what it goes"
    r"|anew|brings? (?:it|them) back|(?:is|are) none that|that there is not|behind (?:an?|it|them|partitioned))\b",
    re.IGNORECASE,
)
"""Constructions that no message may have, since they name neither the fault nor the remedy."""
COMMENT = re.compile(r"(What|Of|That|In which|Where|Those|Which|Who|Whose|Whether)\b", re.IGNORECASE)
"""Openings of a comment that leave out its subject."""
HELPER = re.compile(
    r"((?:^ *@[^\n]*\n)*)^( *)(?:async )?def (?!test_)\w+\((?:[^\n]*|\n(?:\2    [^\n]*\n)+\2\)[^\n]*):\n"
    r'\2    "{3}([^\n"]*)',
    re.MULTILINE,
)
"""A function of the tests that is not a test: its decorators, and the first line of its docstring."""
BUDGETS = {"runtime": 4}
"""Map packages to their budgets of vague constructions in docstrings. A budget may only fall; all others have none."""
SILENT: dict[str, int] = {}
"""Map packages to the number of functions that may leave out an error or None. It may only fall; others have none."""
HIDDEN_ACTS: dict[str, int] = {}
"""Map packages to the number of functions that may "Return" and act in silence. It may only fall; others have none."""


def opens_wrongly(docstring: Docstring) -> bool:
    openings = (
        (FRAGMENT, True),
        (NOUN, docstring.is_function),
        (VERB, docstring.is_property),
        (KIND_OF_ERROR, docstring.is_exception),
    )
    return any(concerns and opening.match(docstring.text) for opening, concerns in openings)


def sentences(text: str) -> list[str]:
    prose = re.sub(r"(?ms)^\s*>>>.*?(?:\n\s*\n|\Z)", "", text)
    return [" ".join(each.split()).lower() for each in re.split(r"(?<=[.:;])\s+", prose) if len(each.split()) > 3]


def helpers_without_act(source: str) -> list[str]:
    """Return the openings of docstrings of helpers that name a value or a fragment; of no fixture or property."""
    return [
        text
        for decorators, _, text in HELPER.findall(source)
        if (FRAGMENT.match(text) or NOUN.match(text)) and "fixture" not in decorators and "property" not in decorators
    ]


def help_texts(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    """Yield the help texts of a command, its options and the commands below it, each with its place."""
    yield path, command.help or ""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield f"{path} --{parameter.name}", parameter.help or ""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from help_texts(below, f"{path} {name}")


HELP = dict(help_texts(streams, "streams"))
SUMMARIES = {each.name: each.summary for each in (*FUNCTIONS.values(), *OUTPUT_FUNCTIONS)}


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ('def f():\n    """Return the rows."""', []),
        ('def f():\n    """The rows."""', ["m.py:1"]),
        ('def f():\n    """What the rows are."""', ["m.py:1"]),
        ('class C:\n    """The rows."""\n    a = 1\n    """Of the first row."""', ["m.py:4"]),
        ('class C:\n    @property\n    def p(self):\n        """The rows."""', []),
        ('class C:\n    @cached_property\n    def p(self):\n        """Return the rows."""', ["m.py:3"]),
        ('class E(Exception):\n    """The catalog cannot be read."""', []),
        ('class E(CatalogError):\n    """Error: the catalog cannot be read."""', ["m.py:1"]),
        ('class E(errors.CatalogError):\n    """The error that the catalog cannot be read."""', ["m.py:1"]),
        ('class E(ValueError):\n    """A value that does not fit."""', ["m.py:1"]),
        ('class C:\n    """A value that does not fit."""', []),
        ('"""Whether it runs."""', ["m.py:1"]),
    ],
)
def test_openings_are_judged(source: str, wrong: list[str]):
    assert [each.place for each in docstrings("m.py", nodes_of(source)) if opens_wrongly(each)] == wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_name_their_subject_first(package: str):
    assert [f"{each.place}: {each.text:.60}" for each in of_package(package) if opens_wrongly(each)] == []


@pytest.mark.parametrize(
    ("source", "opening"),
    [
        ('def f(a: int) -> str:\n    """The rows."""', ["The rows."]),
        ('class A:\n    def f(\n        self, a: int,\n    ) -> str:\n        """Of rows."""', ["Of rows."]),
        ('@fixture\ndef f():\n    """The rows."""\n@property\ndef g(self):\n    """The rows."""', []),
        ('def test_f():\n    """The rows."""\ndef g():\n    """Return the rows."""', []),
    ],
)
def test_helpers_that_name_no_act_are_found(source: str, opening: list[str]):
    assert helpers_without_act(source) == opening


def test_helpers_of_tests_name_their_act_first():
    sources = ((path, path.read_text(encoding="utf-8")) for path in modules_in("streams_orchestration_tests"))
    found = [f"{path.name}: {text}" for path, source in sources for text in helpers_without_act(source)]
    assert found == [], "begin with a verb, as in the product"


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_say_a_sentence_once(package: str):
    doubled = [
        f"{each.place}: {sentence}"
        for each in of_package(package)
        for sentence, count in Counter(sentences(each.text)).items()
        if count > 1
    ]
    assert doubled == []


@pytest.mark.parametrize("texts", [HELP, SUMMARIES], ids=["help", "functions"])
def test_help_texts_and_summaries_are_sentences(texts: dict[str, str]):
    wrong = {
        place: text
        for place, text in texts.items()
        if FRAGMENT.match(text)
        or NOUN.match(text)
        or VAGUE.search(text)
        or not re.fullmatch(r"[A-Z].*[.)\]]", text.partition("\n\n")[0].strip(), re.DOTALL)
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('Field(default=1, description="Where reading begins.")', ["Where reading begins."]),
        ('Field(description=("Most " "rows."))\nF(title="Most rows")', ["Most rows."]),
    ],
)
def test_descriptions_are_read(source: str, texts: list[str]):
    assert [text for _, text in descriptions(nodes_of(source))] == texts


@pytest.mark.parametrize("package", PACKAGES)
def test_descriptions_name_their_value_first(package: str):
    wrong = [
        f"{path.relative_to(ROOT.parent)}:{line}: {text:.60}"
        for path in modules_in(package)
        for line, text in source_of(path).descriptions
        if FRAGMENT.match(text) or UNCOUNTED.match(text) or VAGUE.search(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "vague"),
    [
        ("It stands there anew.", ["stands", "anew"]),
        ("Return what is left of it, or brings it back", ["what is", "of it", "brings it back"]),
        ("Understand what the outcome means, offset by offset.", []),
    ],
)
def test_vague_constructions_are_found(text: str, vague: list[str]):
    assert VAGUE.findall(text) == vague


@pytest.mark.parametrize(
    ("source", "riddles"),
    [
        ('raise E(f"{key} stands twice, {kind} is wanted")', ["stands", "is wanted"]),
        ('say("Bring it back, or start anew")', ["Bring it back", "anew"]),
        ('raise E("the text behind a line; lag behind the watermark")', ["behind a"]),
        ('def f():\n    """It stands there."""\n    report("T stands for any type")', []),
        ('sql = "goes"', []),
    ],
)
def test_riddles_are_found_in_messages(source: str, riddles: list[str]):
    assert [word for _, text in messages(nodes_of(source)) for word in RIDDLES.findall(text)] == riddles


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x is no type, y is none of these", ["is no ", "is none"]),
        ("there is no table t; it is no longer read, and is no newer than s; None if there is none", []),
        ("the type is int, and this is string; it has no key any more", [", and this is", "any more"]),
        ("the values are those of the state; it goes on with what is left", ["those of", "goes on", "what is"]),
    ],
)
def test_unidiomatic_words_are_found(text: str, words: list[str]):
    assert UNIDIOMATIC.findall(text) == words


@pytest.mark.parametrize("package", PACKAGES)
def test_messages_are_plain(package: str):
    found = [
        f"{path.relative_to(ROOT.parent)}:{line}: {word}"
        for path in modules_in(package)
        for line, text in source_of(path).messages
        for word in (*RIDDLES.findall(text), *UNIDIOMATIC.findall(text))
    ]
    assert found == [], "name the thing, its place and the remedy instead"


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_are_idiomatic(package: str):
    found = [f"{each.place}: {word}" for each in of_package(package) for word in UNIDIOMATIC.findall(each.text)]
    assert found == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('def f():\n    """Return a."""\n    if a:\n        raise KeyError(a)', [1]),
        ('def f():\n    """Return a.\n\n    Raises:\n        KeyError: b.\n    """\n    raise KeyError', []),
        ('def f():\n    """Return a."""\n    try:\n        raise KeyError\n    except KeyError:\n        return', []),
        ('def f():\n    """Return a."""\n    match a:\n        case 1:\n            raise E', [1]),
        ('def f():\n    """Return a."""\n    def g():\n        raise E\n    raise NotImplementedError', []),
        ('def f():\n    """Return a."""\n    check_a()', [1]),
        ('def f():\n    """Return a."""\n    if a:\n        self._refuse(a)', [1]),
        ('def f():\n    """Return a; report b."""\n    require(a)\n    checked(a)', []),
        ('def f():\n    """Return a."""\n    try:\n        check_a()\n    except E:\n        return', []),
        ('def f():\n    """Return a."""\n    try:\n        check_a()\n    finally:\n        return', [1]),
        ('def f():\n    """Return a."""\n    checked(a)\n    b = check(a)', []),
        ('def f() -> int | None:\n    """Return a."""\ndef g() -> int | None:\n    """Return a; None if b."""', [1]),
        (
            'class C:\n    a: int | None\n    """A."""\n    b: int | None\n    """B; None if c."""\n    d: int | None',
            [2],
        ),
        ('class C:\n    def __init__(self):\n        self.a: int | None = 1\n        """A."""', [3]),
    ],
)
def test_silent_docstrings_are_found(source: str, lines: list[int]):
    assert list(silent(nodes_of(source))) == lines


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_mention_errors_and_none(package: str):
    found = [place for path in modules_in(package) for place in source_of(path).silent]
    assert len(found) <= SILENT.get(package, 0), f"add `Raises:`, or say when the result is None: {found}"


@pytest.mark.parametrize(
    ("source", "acts"),
    [
        ('def f():\n    """Return a."""\n    self.report(a)', [(1, "report")]),
        ('def f():\n    """Return a; report b."""\n    self.report(a)', []),
        ('def f():\n    """Yield a."""\n    if a.unlink():\n        c.kill(b)', [(1, "unlink")]),
        ('def f():\n    """Return a."""\n    b.execute(insert(a))', [(1, "insert")]),
        ('def f():\n    """Return a."""\n    b.insert(0, a)\n    b.update(a)', []),
        ('def f():\n    """Take a."""\n    a.unlink()', []),
        ("def f():\n    a.unlink()", []),
    ],
)
def test_hidden_acts_are_found(source: str, acts: list[tuple[int, str]]):
    assert list(hidden_acts(nodes_of(source))) == acts


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_mention_acts(package: str):
    found = [f"{place}: {act}" for path in modules_in(package) for place, act in source_of(path).hidden_acts]
    assert len(found) <= HIDDEN_ACTS.get(package, 0), f"name the act, it changes more than the result: {found}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_keeps_its_budget_of_vague_constructions(package: str):
    found = [f"{each.place}: {word}" for each in of_package(package) for word in VAGUE.findall(each.text)]
    assert len(found) <= BUDGETS.get(package, 0), f"write fewer, name the noun or the act instead: {found}"


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("a = 1  # of it\n# one\n# text\nb = 2  # noqa: E1 - a reason", ["of it", "one text", "a reason"]),
        ("    # one\n# another\n'# none'", ["one", "another"]),
    ],
)
def test_comments_are_read(source: str, texts: list[str]):
    assert [text for _, text in comments(f"if True:\n    pass\n{source}\n")] == texts


@pytest.mark.parametrize("package", [*PACKAGES, "streams_orchestration_tests"])
def test_comments_name_their_subject(package: str):
    of_product = package in PACKAGES
    found = [
        f"{path.relative_to(ROOT.parent)}:{line}: {text}"
        for path in modules_in(package)
        for line, text in comments(path.read_text(encoding="utf-8"))
        if COMMENT.match(text) or VAGUE.search(text) or (of_product and UNIDIOMATIC.search(text))
    ]
    assert found == [], "name the noun, and say why"
