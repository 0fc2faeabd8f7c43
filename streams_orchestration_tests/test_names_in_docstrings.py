"""A docstring names functions, attributes and parameters that exist: a rename that forgets one fails here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

import pytest

from streams_orchestration_tests.prose import DOCSTRINGS
from streams_orchestration_tests.sources import READS_SOURCES, ROOT, modules, names, nodes_of, source_of
from streams_orchestration_tests.texts import Text, docstrings

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


def docstrings_of_product() -> list[Text]:
    """Return the docstrings of the product."""
    return [each for path in modules() for each in source_of(path).texts if each.kind in DOCSTRINGS]


def unknown(texts: Iterable[Text], known: Set[str]) -> list[str]:
    """Return the names in texts that are not known, each with its place."""
    return [f"{each.place}: {name}" for each in texts for name in NAME.findall(each.text) if name not in known]


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('def read_it():\n    """See `read_it`."""', 0),
        ('def read_it():\n    """See `read_all`."""', 1),
        ('def read_it(a_b):\n    """Return `a_b`, `word` and `_of_class`."""\n    return self._of_class', 0),
    ],
)
def test_names_that_no_source_has_are_found(source: str, count: int):
    nodes = nodes_of(source)
    assert len(unknown(docstrings("m.py", nodes), set(names(nodes)))) == count


def test_names_in_docstrings_exist():
    parts = {part for path in modules() for part in path.relative_to(ROOT.parent).with_suffix("").parts}
    known = parts.union(EXAMPLES, *(source_of(path).names for path in modules()))
    assert unknown(docstrings_of_product(), known) == []


def test_modules_in_docstrings_exist():
    files = [
        path.as_posix() for top in (ROOT, ROOT.parent / "streams_orchestration_tests") for path in top.rglob("*.py")
    ]
    named = [(each.place, name) for each in docstrings_of_product() for name in FILE.findall(each.text)]
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
