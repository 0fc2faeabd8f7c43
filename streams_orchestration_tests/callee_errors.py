"""Errors that the docstring of a public function leaves out, although they reach its caller.

An error reaches it from a `raise` statement, from a public function that it calls, whose docstring names the error, or
through private functions, which have no lists of errors. Calls are followed by name: functions of the module, functions
that it imports from the product, and methods of `self`.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams_orchestration_tests.sources import nodes_of
from streams_orchestration_tests.texts import MARKS_OF_CODE, private_functions

SECTION = re.compile(r"^\s*((?:[A-Za-z]\w*Error)(?:, [A-Za-z]\w*Error)*),?:?", re.MULTILINE)
"""A line of a section `Raises` that begins with errors."""
CLAUSE = re.compile(r"[Rr]aises? ((?:\w+Error)(?:(?:, | and | or )\w+Error)*)")
"""The errors of a sentence such as "Raise DataError if ..."."""
EXPECTED = MARKS_OF_CODE.union(
    ("CatalogError", "CatalogUnavailableError", "CatalogVersionError", "CommitUnknownError"),
    ("StorageAwayError", "StorageRefusedError", "StateDirectoryError", "StorageSettingError"),
)
"""Errors of code that is not reached, and of a catalog or a store, which a reader expects of each function with one."""
GENERAL = re.compile(r"see `|[Ee]rrors (?:of|in) |the errors of")
"""Words that send the reader of a docstring elsewhere for errors. Without them, each error must be named."""

Key = tuple[str, str, str]
"""The module, the class (empty outside of one) and the name of a function."""
Kinds = Mapping[str, set[str]]
"""Maps each class of errors to its own name and the names of all classes that it derives from."""


@dataclass
class Function:
    """A function or method of the product."""

    line: int
    private: bool
    text: str
    """The docstrings of the function and of its class."""
    steps: set[tuple[str | Key, frozenset[str]]]
    """The errors that it raises and the functions that it calls, with the errors that handlers around each catch."""
    errors: frozenset[str]
    """The errors that callers meet: by the docstring, or by the steps of a private function."""


def errors_in(text: str) -> frozenset[str]:
    """Return the errors that a docstring says are raised."""
    section = text.partition("Raises:\n")[2]
    lines = [match[1] for match in SECTION.finditer(section)]
    return frozenset(re.findall(r"\w+Error", " ".join([*lines, *CLAUSE.findall(text)])))


def left_out(sources: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the place of each public function that leaves out an error, the callee that raises it, and the error.

    The sources have the names of their modules. For a `raise` statement the callee is the function itself.
    """
    found: dict[Key, Function] = {}
    bases = {name: [kind.__base__.__name__] for name, kind in vars(builtins).items() if name.endswith("Error")}
    for module, source in sources.items():
        nodes = nodes_of(source)
        found.update(functions(module, nodes))
        for node in nodes:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                bases[node.name] = [ast.unparse(base).rpartition(".")[2] for base in node.bases]

    def kinds_of(name: str) -> set[str]:
        return {name}.union(*(kinds_of(base) for base in bases.get(name, ()) if base != name))

    kinds = {name: kinds_of(name) for name in bases}
    propagate(found, kinds)
    for (module, _, name), each in found.items():
        if not each.private and each.text.strip() and not GENERAL.search(each.text):
            for callee, error in sorted(set(reaching(each, found, kinds))):
                if error not in EXPECTED and not any(kind in each.text for kind in kinds.get(error, {error})):
                    yield f"{module}:{each.line} {name}", callee or name, error


def functions(module: str, nodes: Sequence[ast.AST]) -> Iterator[tuple[Key, Function]]:
    """Yield the functions and methods of a module."""
    private = private_functions(nodes)
    imported: dict[str, Key] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            imported.update({each.asname or each.name: (node.module, "", each.name) for each in node.names})
    for owner in nodes:
        if isinstance(owner, ast.Module | ast.ClassDef):
            within, around = (owner.name, ast.get_docstring(owner)) if isinstance(owner, ast.ClassDef) else ("", "")
            for node in owner.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    text = ast.get_docstring(node) or ""
                    steps = set(_steps(node, frozenset(), (module, within), imported))
                    texts = f"{text} {around or ''}"
                    function = Function(node.lineno, node in private, texts, steps, errors_in(text))
                    yield (module, within, node.name), function


def propagate(found: Mapping[Key, Function], kinds: Kinds) -> None:
    """Set the errors of private functions, through one another."""
    private = [each for each in found.values() if each.private]
    changed = True
    while changed:
        changed = False
        for each in private:
            errors = frozenset(error for _, error in reaching(each, found, kinds))
            changed |= errors != each.errors
            each.errors = errors


def reaching(function: Function, found: Mapping[Key, Function], kinds: Kinds) -> Iterator[tuple[str, str]]:
    """Yield callee and error for the errors that reach the caller of a function; its own have an empty callee."""
    for step, caught in function.steps:
        if isinstance(step, str):
            callee, errors = "", {step}
        else:
            callee, errors = step[2], found[step].errors if step in found else ()
        for error in errors:
            if not caught & (kinds.get(error, {error}) | {"Exception", "BaseException"}):
                yield callee, error


def _steps(
    node: ast.AST, caught: frozenset[str], place: tuple[str, str], imported: Mapping[str, Key]
) -> Iterator[tuple[str | Key, frozenset[str]]]:
    """Yield the errors and the called functions below a node, each with the errors that handlers around it catch."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        inside = caught | _caught(node, child)
        match child:
            case ast.Call(func=ast.Name(id=name)):
                yield imported.get(name, (place[0], "", name)), inside
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                yield (*place, name), inside
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)) if name.endswith("Error"):
                yield name, inside
            case _:
                pass
        yield from _steps(child, inside, place, imported)


def _caught(node: ast.AST, child: ast.AST) -> frozenset[str]:
    """Return the names of the errors that a node catches when its child raises them."""
    match node:
        case ast.Try(body=body, handlers=handlers) if child in body:
            types = ["Exception" if each.type is None else ast.unparse(each.type) for each in handlers]
        case ast.With(items=items, body=body) if child in body:
            written = [ast.unparse(each.context_expr) for each in items]
            types = [each for each in written if "suppress(" in each]
            types += ["Exception" for each in written if "survived(" in each]
        case _:
            types = []
    return frozenset(re.findall(r"\w+", " ".join(types)))
