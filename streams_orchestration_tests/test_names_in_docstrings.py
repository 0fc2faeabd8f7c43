"""A docstring names functions, attributes and parameters that exist: a rename that forgets one fails here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from streams_orchestration_tests.sources import READS_SOURCES, ROOT, docstrings, modules, nodes_of

pytestmark = READS_SOURCES

NAME = re.compile(r"`(_?[a-z]+(?:_[a-z0-9]+)+)`")
"""A name of several words in a docstring. A single word may be a value or a key of a spec."""
DEFINITION = re.compile(r"^ *(?:def|class) (\w+)", re.MULTILINE)
OF_MODULE = re.compile(r"`([a-z_]+\.\w+)`")
"""A module, or a name that it defines, in a docstring of the model of consistent regions."""
FILE = re.compile(r"`([\w/]+\.py)`")
"""A module of the product or of its tests in a docstring, by the end of its path."""
EXAMPLES = {
    "streams_catalog_up",
    "lhs_a",
    "lhs_name",
    "rhs_name",
    "flights__redeploy",
    "flights__rescale",
    "dagster_webserver",
}
"""Names of attributes, jobs and packages in examples, and of a metric."""


def written(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that code defines or uses, and the words that it has as texts."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.Name(id=name):
                yield name
            case ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield from (*name.split("."), other or name)
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text
            case _:
                pass


def unknown(sources: dict[str, str]) -> list[str]:
    """Return the names in docstrings that no source has, each with its place."""
    trees = {place: nodes_of(source) for place, source in sources.items()}
    known = {name for nodes in trees.values() for name in written(nodes)} | EXAMPLES
    known.update(part for place in sources for part in re.split(r"[/.]", place))
    texts = (each for place, nodes in trees.items() for each in docstrings(place, nodes))
    return [f"{each.place}: {name}" for each in texts for name in NAME.findall(each.text) if name not in known]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('def read_it():\n    """See `read_it`."""', 0),
        ('def read_it():\n    """See `read_all`."""', 1),
        ('def read_it(a_b):\n    """Return `a_b`, `word` and `_of_class`."""\n    return self._of_class', 0),
    ],
)
def test_names_that_no_source_has_are_found(source: str, names: int):
    assert len(unknown({"module": source})) == names


def test_names_in_docstrings_exist():
    assert unknown({str(path): path.read_text(encoding="utf-8") for path in modules()}) == []


def test_modules_in_docstrings_exist():
    files = [
        path.as_posix() for top in (ROOT, ROOT.parent / "streams_orchestration_tests") for path in top.rglob("*.py")
    ]
    sources = {str(path): nodes_of(path.read_text(encoding="utf-8")) for path in modules()}
    texts = (each for place, nodes in sources.items() for each in docstrings(place, nodes))
    named = [(each.place, name) for each in texts for name in FILE.findall(each.text)]
    assert len(named) > 100
    missing = [each for each in named if not any(file.endswith(f"/{each[1]}") for file in files)]
    assert missing == []


def test_functions_of_the_product_that_the_model_names_are_in_the_modules_that_it_names():
    model = sorted((ROOT.parent / "streams_orchestration_tests" / "protocol").glob("*.py"))
    defined = {path.name for path in (*modules(), *model)}
    defined.update(f"{path.stem}.{name}" for path in modules() for name in DEFINITION.findall(path.read_text("utf-8")))
    texts = [each for path in model for each in docstrings(path.name, nodes_of(path.read_text("utf-8")))]
    named = [(each.place, name) for each in texts for name in OF_MODULE.findall(each.text)]
    assert named
    assert [f"{place}: {name}" for place, name in named if name not in defined] == []
