"""No two functions of the product have the same body, unless they must not share code."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from streams_orchestration_tests.sources import READS_SOURCES, ROOT, modules

STATEMENTS, NODES = 3, 20
"""A body is compared from this many statements, or nodes of its tree, on. Smaller ones only hand on or name a value.
A body of that many nodes has at least as many characters."""
ONE = """
def first(
    number: int,  # of tuples
) -> int:
    '''Add one.'''
    following = (
        number + 1
    )
    last = following
    return last
"""
OTHER = """
class Other:
    async def second(self, number):
        following = number + 1  # of tuples
        last = following
        return last

    at = 1
"""
SMALL = """
def third(number):
    return number.denominator

def fourth(number):
    return number.denominator
"""
DEFINITION = re.compile(r"^( *)(?:async )?def \w+\(", re.MULTILINE)
SIGNATURE_END = re.compile(r":(?:  #.*)?\n")
DOCSTRING = re.compile(r"\s*r?(\"\"\"|''')(?:.|\n)*?\1")
LAYOUT = re.compile(r"  #.*|[\s(),]")
"""Comments, and characters that depend on the indentation of a function that is formatted."""


def texts_of_bodies(source: str) -> Iterator[str]:
    """Yield the text of each function's body without layout and docstring, found by indentation.

    Equal bodies have equal texts. The reverse does not hold, so equal texts only select modules to be parsed, which
    takes far longer.
    """
    for match in DEFINITION.finditer(source):
        following = re.compile(rf"^ {{0,{len(match[1])}}}[^\s)]", re.MULTILINE).search(source, match.end())
        text = source[match.end() : following.start() if following else len(source)]
        signature = SIGNATURE_END.search(text)
        body = text[signature.end() :] if signature else text
        docstring = DOCSTRING.match(body)
        yield LAYOUT.sub("", body[docstring.end() :] if docstring else body)


def bodies(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the tree of each function whose body is not trivial. The tree is without the docstring."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            body = function.body[ast.get_docstring(function, clean=False) is not None :]
            nodes = [node for statement in body for node in ast.walk(statement)]
            if len(nodes) >= NODES or sum(isinstance(node, ast.stmt) for node in nodes) >= STATEMENTS:
                yield function.name, "\n".join(map(ast.dump, body))


def duplicates(sources: Mapping[str, str]) -> set[tuple[str, ...]]:
    """Return the groups of functions with the same body, each as `module:function`; `sources` maps modules to texts."""
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for module, source in sources.items():
        for text in texts_of_bodies(source):
            holders[text].append(module)
    suspects = {module for text, each in holders.items() if len(each) > 1 and len(text) >= NODES for module in each}
    functions: defaultdict[str, list[str]] = defaultdict(list)
    for module in sorted(suspects):
        for name, body in bodies(sources[module]):
            functions[body].append(f"{module}:{name}")
    return {tuple(sorted(group)) for group in functions.values() if len(group) > 1}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@READS_SOURCES
def test_no_two_functions_have_the_same_body():
    assert duplicates({relative(path): path.read_text(encoding="utf-8") for path in modules()}) == set()


def test_names_docstrings_and_layout_do_not_tell_functions_apart():
    sources = {"one": ONE, "other": OTHER, "small": SMALL}
    assert duplicates(sources) == {("one:first", "other:second")}
    assert duplicates(sources | {"other": OTHER.replace("number + 1", "number + 2")}) == set()
