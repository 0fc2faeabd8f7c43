"""Errors that the docstring of a public function leaves out, although they reach its caller.

An error reaches it from a `raise` statement, from a public function that it calls, whose docstring names the error, or
through private functions, which have no lists of errors. Calls are followed by name: functions of the module, functions
that it imports from the product, and methods of `self`.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams_orchestration_tests.sources import nodes_of

SECTION = re.compile(r"^\s*(\w*(?:Error|Exception)(?:, \w*(?:Error|Exception))*),?:?", re.MULTILINE)
"""A line of a section `Raises` that begins with errors."""
CLAUSE = re.compile(r"[Rr]aises? ((?:\w+Error)(?:(?:, | and | or )\w+Error)*)")
"""The errors of a sentence such as "Raise DataError if ..."."""
EXPECTED = frozenset(
    (
        *("AssertionError", "Exception", "NotImplementedError", "StopIteration"),
        *("CatalogError", "CatalogUnavailableError", "CatalogVersionError", "CommitUnknownError"),
        *("StorageAwayError", "StorageRefusedError", "StateDirectoryError", "StorageSettingError"),
    )
)
"""Errors of code that is not reached, and of a catalog or a store, which a reader expects of each function with one."""
GENERAL = re.compile(r"see `|[Ee]rrors (?:of|in) |the errors of")
"""Words that send the reader of a docstring elsewhere for errors. Without them, each error must be named."""

CATCHING = {"isinstance", "suppress"}
"""Functions by which code tells errors apart."""
PRIVATE = re.compile(r"_(?!_\w+__$)")
"""The opening of the name of a private function or class; a special method is not private."""
Key = tuple[str, str, str]
"""The module, the class (empty outside of one) and the name of a function."""


@dataclass
class Function:
    """A function or method of the product."""

    line: int
    text: str
    """The docstring."""
    around: str
    """The docstring of the class."""
    listed: bool
    """True if the function is public and has a docstring, which names its errors."""
    steps: set[tuple[str | Key, frozenset[str]]]
    """The errors that it raises and the functions that it calls, with the errors that handlers around each catch."""
    errors: frozenset[str]
    """The errors that callers meet: by the docstrings, or else by the steps."""


def private_functions(nodes: Iterable[ast.AST]) -> set[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions with an underscore, and all that are inside of functions or of classes with an underscore.

    Special methods of public classes are public.
    """
    found: set[ast.FunctionDef | ast.AsyncFunctionDef] = set()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            private = PRIVATE.match(node.name) is not None
            if private or not isinstance(node, ast.ClassDef):
                below = [*([node] if private else ()), *_statements(node)]
                found.update(each for each in below if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements below a node; expressions, which are most of a tree, have none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from _statements(child)


def errors_in(text: str) -> frozenset[str]:
    """Return the errors that a docstring says are raised."""
    clauses = " ".join(CLAUSE.findall(text))
    return frozenset((*listed_in(text), *re.findall(r"\w+Error", clauses)))


def entries_in(text: str) -> list[list[str]]:
    """Return the errors of each entry of the section `Raises` of a docstring."""
    return [line.split(", ") for line in SECTION.findall(text.partition("Raises:\n")[2])]


def listed_in(text: str) -> list[str]:
    """Return the errors of the section `Raises` of a docstring."""
    return [name for entry in entries_in(text) for name in entry]


class Product:
    """The functions, the classes and the errors of the product, whose sources have the names of their modules."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.functions: dict[Key, Function] = {}
        self.bases: dict[tuple[str, str], list[Key]] = {}
        """Maps module and name of a class to its bases."""
        self.told_apart: set[str] = set()
        """The errors that code catches or tests for by name."""
        for module, source in sources.items():
            self._read(module, nodes_of(source))
        self.errors = {name: [kind.__base__.__name__] for name, kind in vars(builtins).items() if "Error" in name}
        """Maps each class of errors to the names of its bases."""
        self.errors["ValidationError"] = ["ValueError"]  # pydantic has this one
        for (_, name), bases in self.bases.items():
            if name[0].isupper():
                self.errors[name] = [base.rpartition(".")[2] for _, _, base in bases]
        for key, each in self.functions.items():
            if each.listed:
                each.errors = each.errors.union(*(errors_in(other.text) for other in self.overridden(key)))
        unlisted = [each for each in self.functions.values() if not each.listed]
        while sum(map(self._advanced, unlisted)):
            pass

    def _read(self, module: str, nodes: Sequence[ast.AST]) -> None:
        private = private_functions(nodes)
        names: dict[str, Key] = {}
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names.update({each.asname or each.name: (node.module, "", each.name) for each in node.names})
            elif isinstance(node, ast.ExceptHandler) and node.type is not None:
                self.told_apart.update(re.findall(r"\w+", ast.unparse(node.type)))
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in CATCHING:
                self.told_apart.update(re.findall(r"\w+", ast.unparse(node)))
        for owner in nodes:
            if not isinstance(owner, ast.Module | ast.ClassDef):
                continue
            within, around = "", ""
            if isinstance(owner, ast.ClassDef):
                within, around = owner.name, ast.get_docstring(owner) or ""
                bases = [ast.unparse(each.value if isinstance(each, ast.Subscript) else each) for each in owner.bases]
                self.bases[module, within] = [names.get(each, (module, "", each)) for each in bases]
            for node in owner.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    text = ast.get_docstring(node) or ""
                    listed = bool(text) and node not in private
                    errors = errors_in(text) if listed else frozenset[str]()
                    steps = set(_steps(node, frozenset(), (module, within), names))
                    self.functions[module, within, node.name] = Function(
                        node.lineno, text, around, listed, steps, errors
                    )

    def _advanced(self, function: Function) -> bool:
        """Set the errors of a function from its steps; return True if they were others."""
        before, function.errors = function.errors, frozenset(error for _, error in self.reaching(function))
        return before != function.errors

    def overridden(self, key: Key) -> Iterator[Function]:
        """Yield the methods that a method overrides, from near to far."""
        module, within, name = key
        for where, _, base in self.bases.get((module, within), ()):
            if (where, base, name) in self.functions:
                yield self.functions[where, base, name]
            yield from self.overridden((where, base, name))

    @functools.cache  # noqa: B019  one object is made
    def kinds(self, error: str) -> set[str]:
        """Return the name of a class of errors, and the names of all classes that it derives from."""
        return {error}.union(*(self.kinds(base) for base in self.errors.get(error, ()) if base != error))

    def reaching(self, function: Function) -> Iterator[tuple[str, str]]:
        """Yield callee and error for the errors that reach the caller of a function; its own have an empty callee."""
        for step, caught in function.steps:
            if isinstance(step, str):
                name, errors = "", [step]
            else:
                name, errors = step[2], self.functions[step].errors if step in self.functions else ()
            for error in errors:
                if not caught & (self.kinds(error) | {"Exception", "BaseException"}):
                    yield name, error

    def left_out(self) -> Iterator[tuple[str, str, str]]:
        """Yield the place of each public function that leaves out an error, the callee that raises it, and the error.

        For a `raise` statement the callee is the function itself.
        """
        for key, each in self.functions.items():
            if each.listed and not GENERAL.search(f"{each.text} {each.around}"):
                named = " ".join((each.text, each.around, *(other.text for other in self.overridden(key))))
                for callee, error in sorted(set(self.reaching(each))):
                    if error not in EXPECTED and not any(kind in named for kind in self.kinds(error)):
                        yield f"{key[0]}:{each.line} {key[2]}", callee or key[2], error

    def repeated(self) -> Iterator[tuple[str, str]]:
        """Yield place and error for each error in the list of a method that an overridden method may raise as well."""
        for key, each in self.functions.items():
            above = {error for other in self.overridden(key) for error in errors_in(other.text)}
            for error in sorted(listed_in(each.text)):
                if not self.kinds(error).isdisjoint(above):
                    yield f"{key[0]}:{each.line} {key[2]}", error

    def covered(self) -> Iterator[tuple[str, str]]:
        """Yield place and error for each listed error whose list, with a base of the error, says the same without it.

        The base is in the same entry. Or it is StreamsRuntimeError in any entry, and no code tells the error apart.
        """
        for key, each in self.functions.items():
            entries = entries_in(each.text)
            listed = {error for entry in entries for error in entry}
            for error in (error for entry in entries for error in entry):
                bases = self.kinds(error) - {error}
                together = any(error in entry and not bases.isdisjoint(entry) for entry in entries)
                if together or (error not in self.told_apart and "StreamsRuntimeError" in bases & listed):
                    yield f"{key[0]}:{each.line} {key[2]}", error


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
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)) if name[0].isupper():
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
            return frozenset()
    return frozenset(re.findall(r"\w+", " ".join(types)))
