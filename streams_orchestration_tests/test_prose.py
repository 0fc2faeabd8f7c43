"""Docstrings, help texts and summaries name their subject first, and say each thing once."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import click
import pytest

from streams_orchestration.cli.entry import streams
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.operators.standard.output_functions import OUTPUT_FUNCTIONS

PRODUCT = Path(__file__).parents[1] / "streams_orchestration"
FRAGMENT = re.compile(
    r"(What|Of|That|In which|Where|Those|How|Whether|Which|When|As|With|Without|Is|Are|Do(?! nothing| something| the)"
    r"|Does|May|Has|Can)\b"
)
"""Openings of relative clauses, fragments and questions."""
NOUN = re.compile(r"(The|A|An|All|Both|Each|Every|Everything|Its|None|Nothing|One|Some|True|False)\b")
"""Openings of a function's docstring that name a value and leave out the verb."""
VAGUE = re.compile(
    r"\b(?:stands?|stood|(?:is|are|was|were) there|(?:goes|go|went) by|(?:brings?|brought)(?: \w+)? back"
    r"|what (?:is|are|was|were|has|have)|that of|those of|of it|anew|(?:the )?plan before)\b",
    re.IGNORECASE,
)
"""Constructions that leave out the noun or the act, of which a package has a budget."""
BUDGETS = {
    "builder": 17,
    "cli": 9,
    "compiler": 50,
    "console": 6,
    "expressions": 5,
    "model": 12,
    "operators": 80,
    "orchestration": 14,
    "runtime": 89,
    "spl": 39,
}
"""Map each package to its budget of vague constructions in docstrings. A budget may only fall."""
RAISES = re.compile(r"^Raises:\n((?:    .*\n?|\s*\n)*)", re.MULTILINE)
RAISED = re.compile(r"^    (\w[\w.]*)(?=[:,])", re.MULTILINE)
OF_LIBRARIES = {"AnalysisException", "MultipleResultsFound", "NoResultFound", "PolarsError"}
"""Errors that only libraries raise, and that no module of the product names."""


@dataclass(frozen=True)
class Docstring:
    place: str
    text: str
    is_function: bool

    @property
    def wrong_opening(self) -> bool:
        return bool(FRAGMENT.match(self.text) or (self.is_function and NOUN.match(self.text)))


def docstrings(place: str, source: str) -> Iterator[Docstring]:
    """Yield the docstrings of a module, its classes, functions and attributes."""
    tree = ast.parse(source)
    for owner in ast.walk(tree):
        if isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(owner)
            if text:
                yield Docstring(f"{place}:{getattr(owner, 'lineno', 1)}", text, _returns_when_called(owner))
        body = getattr(owner, "body", None)
        statements: list[ast.stmt] = body if isinstance(body, list) else []
        for assigned, following in pairwise(statements):
            match assigned, following:
                case ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(text))):
                    yield Docstring(f"{place}:{following.lineno}", text, is_function=False)
                case _:
                    pass


def _returns_when_called(owner: ast.AST) -> bool:
    """Return True for a function; False for a property, whose docstring names a value as that of an attribute."""
    if not isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return not any("property" in ast.unparse(decorator) for decorator in owner.decorator_list)


def sentences(text: str) -> list[str]:
    prose = re.sub(r"(?ms)^\s*>>>.*?(?:\n\s*\n|\Z)", "", text)
    return [" ".join(each.split()).lower() for each in re.split(r"(?<=[.:;])\s+", prose) if len(each.split()) > 3]


@functools.cache
def of_package(package: str) -> list[Docstring]:
    modules = sorted((PRODUCT / package).rglob("*.py"))
    named = ((module.relative_to(PRODUCT).as_posix(), module) for module in modules)
    return [each for place, module in named for each in docstrings(place, module.read_text(encoding="utf-8"))]


PACKAGES = sorted(path.parent.name for path in PRODUCT.glob("*/__init__.py"))


def help_texts(command: click.Command, path: str) -> Iterator[tuple[str, str]]:
    """Yield the help texts of a command, its options and the commands below it, each with its place."""
    yield path, command.help or ""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield f"{path} --{parameter.name}", parameter.help or ""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from help_texts(below, f"{path} {name}")


def raised_by(text: str) -> list[str]:
    """Return the errors that a docstring's section `Raises` names."""
    return [name for section in RAISES.findall(text) for name in RAISED.findall(section)]


def names_of_errors() -> tuple[set[str], list[tuple[str, str]]]:
    """Return all names in the code of the product, and the errors of docstrings with their places."""
    defined: set[str] = set()
    documented: list[tuple[str, str]] = []
    for module in PRODUCT.rglob("*.py"):
        source = module.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.ClassDef(name=str(name)) | ast.Name(id=name) | ast.Attribute(attr=name):
                    defined.add(name)
                case ast.alias():
                    defined.add(node.asname or node.name)
                case _:
                    pass
        place = module.relative_to(PRODUCT).as_posix()
        documented += [(each.place, name) for each in docstrings(place, source) for name in raised_by(each.text)]
    return defined, documented


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
        ('"""Whether it runs."""', ["m.py:1"]),
    ],
)
def test_openings_are_judged(source: str, wrong: list[str]):
    assert [each.place for each in docstrings("m.py", source) if each.wrong_opening] == wrong


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_name_their_subject_first(package: str):
    assert [f"{each.place}: {each.text:.60}" for each in of_package(package) if each.wrong_opening] == []


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
        or not re.fullmatch(r"[A-Z].*[.)\]]", text.partition("\n\n")[0].strip(), re.DOTALL)
    }
    assert wrong == {}


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


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_keeps_its_budget_of_vague_constructions(package: str):
    found = [f"{each.place}: {word}" for each in of_package(package) for word in VAGUE.findall(each.text)]
    assert len(found) <= BUDGETS[package], f"write fewer, name the noun or the act instead: {found}"


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
