"""Errors that the docstring of a function leaves out, although the docstring of a function that it calls names them.

Calls are followed by name: functions of the module, functions that it imports from the product, and methods of `self`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from streams_orchestration_tests.sources import ROOT, modules

SECTION = re.compile(r"^\s*((?:[A-Za-z]\w*Error)(?:, [A-Za-z]\w*Error)*),?:?", re.MULTILINE)
"""A line of a section `Raises` that begins with errors."""
CLAUSE = re.compile(r"[Rr]aises? ((?:\w+Error)(?:(?:, | and | or )\w+Error)*)")
"""The errors of a sentence such as "Raise DataError if ..."."""
EXPECTED = frozenset(
    (
        *("CatalogError", "CatalogUnavailableError", "CatalogVersionError", "CommitUnknownError"),
        *("StorageAwayError", "StorageRefusedError", "StateDirectoryError", "StorageSettingError"),
    )
)
"""Errors of a catalog or a store, which a reader expects of every function that uses one."""
GENERAL = re.compile(r"see `|[Ee]rrors (?:of|in) |the errors of")
"""Words that send the reader of a docstring elsewhere for errors. Without them, each error must be named."""


@dataclass
class Module:
    """The functions and imports of a module of the product."""

    name: str
    tree: ast.Module
    imports: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Maps each imported name to its module and its name there."""


Named = dict[tuple[str, str, str], frozenset[str]]
"""Maps module, class (empty outside of one) and function to the errors that its docstring names."""


def read() -> list[Module]:
    """Return all modules of the product."""
    found: list[Module] = []
    for path in modules():
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        module = Module(name, ast.parse(path.read_text(encoding="utf-8")))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                module.imports.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
        found.append(module)
    return found


def functions(module: Module) -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """Yield the functions and methods of a module, each with its class (empty outside of one) and its docstring."""
    for node in module.tree.body:
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        around = (ast.get_docstring(node) or "") if isinstance(node, ast.ClassDef) else ""
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                yield owner, around, each


def errors_in(text: str) -> frozenset[str]:
    """Return the errors that a docstring says are raised."""
    section = text.partition("Raises:\n")[2]
    lines = [match[1] for match in SECTION.finditer(section)]
    return frozenset(re.findall(r"\w+Error", " ".join([*lines, *CLAUSE.findall(text)])))


def bases_of(found: list[Module]) -> dict[str, set[str]]:
    """Map the name of each class of errors to its own name and the names of all classes that it derives from."""
    direct = {
        node.name: [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        for module in found
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error")
    }

    def all_of(name: str) -> set[str]:
        return {name}.union(*(all_of(base) for base in direct.get(name, ()) if base != name))

    return {name: all_of(name) for name in direct}


def left_out() -> Iterator[tuple[str, str, str]]:
    """Yield the place of each function whose docstring leaves out errors of a callee, the callee, and one error."""
    found = read()
    bases = bases_of(found)
    named: Named = {
        (module.name, owner, each.name): errors_in(ast.get_docstring(each) or "")
        for module in found
        for owner, _, each in functions(module)
    }
    for module in found:
        for owner, around, each in functions(module):
            text = ast.get_docstring(each)
            if text is None or GENERAL.search(f"{text} {around}"):
                continue
            for callee, error, caught in sorted(set(_raised(each, frozenset(), module, owner, named)), key=str):
                kinds = bases.get(error, {error})
                is_named = any(kind in f"{text} {around}" for kind in kinds)
                is_caught = caught & (kinds | {"Exception", "BaseException"})
                if error not in EXPECTED and not is_named and not is_caught:
                    yield f"{module.name}:{each.lineno} {each.name}", callee, error


def _raised(
    node: ast.AST, caught: frozenset[str], module: Module, owner: str, named: Named
) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield callee and error of each call below a node, with the names of the errors that handlers around it catch."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        inside = caught | _caught(node, child)
        if isinstance(child, ast.Call):
            name, errors = _callee(child, module, owner, named)
            yield from ((name, error, inside) for error in errors)
        yield from _raised(child, inside, module, owner, named)


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


def _callee(call: ast.Call, module: Module, owner: str, named: Named) -> tuple[str, frozenset[str]]:
    """Return the name of a called function and the errors that its docstring names; none for an unknown function."""
    match call.func:
        case ast.Name(id=name):
            where, there = module.imports.get(name, (module.name, name))
            return name, named.get((where, "", there), frozenset())
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name, named.get((module.name, owner, name), frozenset())
        case _:
            return "", frozenset()
