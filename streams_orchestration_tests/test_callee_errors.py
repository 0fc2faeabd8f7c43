"""The docstring of a public function names the errors that reach its caller; no other docstring lists errors."""

from __future__ import annotations

import ast
import functools
from collections import Counter

import pytest

from streams_orchestration_tests.callee_errors import Product, errors_in, private_functions
from streams_orchestration_tests.sources import READS_SOURCES, ROOT, modules, nodes_of

pytestmark = READS_SOURCES

LEAVE_OUT = {
    "operators": 56,
    "runtime": 27,
    "spl": 23,
    "compiler": 11,
    "expressions": 5,
    "builder": 3,
    "orchestration": 3,
    "cli": 2,
    "console": 1,
}
"""Map packages to the number of functions that may leave out an error. It may only fall; others have none.

They were read one by one, and most of them are right: a check before the call excludes the error, or the function that
the callee returns raises it.
"""


@functools.cache
def product() -> Product:
    """Return the product as its errors are judged."""
    names = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path for path in modules()}
    return Product({name: path.read_text(encoding="utf-8") for name, path in names.items()})


def test_no_more_docstrings_than_before_leave_out_an_error():
    found: dict[str, set[str]] = {}
    for place, callee, error in product().left_out():
        found.setdefault(place.split(".")[1].partition(":")[0], set()).add(f"{place}: {error} of {callee}")
    functions = {name: Counter(each.partition(": ")[0] for each in places) for name, places in found.items()}
    beyond = {name: sorted(found[name]) for name, places in functions.items() if len(places) > LEAVE_OUT.get(name, 0)}
    assert not beyond, "name the errors, or say `see` and the callee"


@pytest.mark.parametrize(
    ("source", "errors"),
    [
        ("def f():\n 'F.'\n raise KeyError(a)", "f:KeyError"),
        ("def f():\n 'F.'\n g()\ndef g():\n 'Raise KeyError.'", "g:KeyError"),
        ("def f():\n 'F.'\n _g()\ndef _g():\n _h()\ndef _h():\n raise KeyError", "_g:KeyError"),
        ("def f():\n 'F.'\n _g()\ndef _g():\n 'Raise AError.'\n g()\ndef g():\n 'Raise KeyError.'", "_g:KeyError"),
        ("def f():\n 'F.'\n _g()\ndef _g():\n _h()\ndef _h():\n _g()\n raise KeyError", "_g:KeyError"),
        ("class C:\n def f(a):\n  'F.'\n  self._g()\n def _g(a):\n  raise KeyError", "_g:KeyError"),
        ("def f():\n 'F.'\n try:\n  _g()\n except LookupError:\n  pass\ndef _g():\n raise KeyError", ""),
        ("def f():\n 'F.'\n _g()\ndef _g():\n try:\n  raise KeyError\n except KeyError:\n  pass", ""),
        ("def f():\n 'Raise LookupError.'\n raise KeyError", ""),
        ("def f():\n 'F.'\n raise NotImplementedError", ""),
        ("class B:\n def f():\n  'Raise KeyError.'\nclass C(B):\n def f():\n  'F.'\n  raise KeyError", ""),
    ],
)
def test_errors_that_reach_a_caller_are_found(source: str, errors: str):
    assert " ".join(f"{callee}:{error}" for _, callee, error in Product({"m": source}).left_out()) == errors


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (
            "Write it.\n\nRaises:\n    DataError, StateError: it cannot.\n    KeyError: none.",
            "DataError StateError KeyError",
        ),
        ("Raise DataError if it cannot.", "DataError"),
        ("Return a DataError.", ""),
    ],
)
def test_a_docstring_names_errors_in_its_section_or_in_a_sentence(text: str, errors: str):
    assert errors_in(text) == frozenset(errors.split())


def test_private_functions_have_no_list_of_errors():
    listed = [
        f"{path.relative_to(ROOT)}:{each.lineno} {each.name}"
        for path in modules()
        for each in private_functions(nodes_of(path.read_text(encoding="utf-8")))
        if "Raises:\n" in (ast.get_docstring(each) or "")
    ]
    assert listed == [], "remove `Raises:`, and keep a condition that a reader needs as a sentence"


def test_overriding_methods_do_not_repeat_the_list_of_the_overridden_one():
    assert list(product().repeated()) == [], "list only the errors that the method adds"


def test_lists_name_only_errors_that_a_caller_tells_apart():
    assert list(product().covered()) == [], "name the base alone, with all conditions"


@pytest.mark.parametrize(
    ("entries", "covered"),
    [
        ("LookupError, KeyError: a.", ["KeyError"]),
        ("ValueError, ValidationError: a.", ["ValidationError"]),
        ("LookupError: a.\n      KeyError: b.", []),
        ("StreamsRuntimeError: a.\n      AError: b.\n      BError: c.", ["AError"]),
        ("AError: b.\n      BError: c.", []),
    ],
)
def test_errors_that_a_listed_base_covers_are_found(entries: str, covered: list[str]):
    source = (
        "class AError(StreamsRuntimeError): ''\nclass BError(StreamsRuntimeError): ''\n"
        f"def f():\n  '''F.\n\n  Raises:\n      {entries}\n  '''\n"
        "def g():\n  try:\n    f()\n  except BError:\n    pass\n"
    )
    assert [error for _, error in Product({"m": source}).covered()] == covered


@pytest.mark.parametrize(
    ("above", "below", "repeated"),
    [
        ("KeyError: a.", "KeyError: b.", ["KeyError"]),
        ("LookupError: a.", "OSError, KeyError: b.", ["KeyError"]),
        ("Exception: a.", "KeyError: b.", ["KeyError"]),
        ("KeyError: a.", "LookupError: b.", []),
    ],
)
def test_repeated_errors_are_found(above: str, below: str, repeated: list[str]):
    method = " def f():\n  '''F.\n\n  Raises:\n      {}\n  '''\n"
    source = f"class B:\n{method.format(above)}class C(B):\n{method.format(below)}"
    assert [error for _, error in Product({"m": source}).repeated()] == repeated
