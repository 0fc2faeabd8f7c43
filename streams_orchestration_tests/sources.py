"""The source of the product as tests judge it: each module is parsed and walked once for all of them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import streams_orchestration
from streams_orchestration_tests.texts import Text, strings, texts_of

READS_SOURCES = pytest.mark.xdist_group("sources")
"""Tests that read the source of all modules, in one worker."""
ROOT = Path(streams_orchestration.__file__).parent
PACKAGES = sorted(
    path.parent.name for path in (*ROOT.glob("*/__init__.py"), *ROOT.parent.glob("benchmarks/__init__.py"))
)
SURROUNDINGS = re.compile(
    r"time\.(time|time_ns|monotonic|monotonic_ns|perf_counter|sleep|clock_gettime)"
    r"|datetime\.(now|utcnow|today)|datetime\.datetime\.(now|utcnow|today)|threading\.\w+|uuid\.uuid\d|os\.(getpid|getloadavg)"
    r"|secrets\.\w+|random\.\w+|concurrent\.futures\.ThreadPoolExecutor|ThreadPoolExecutor"
)
"""Names, as a module writes them, of what `world` is for."""
FIRST_NAMES = {"time", "datetime", "threading", "uuid", "os", "secrets", "random", "concurrent", "ThreadPoolExecutor"}
"""The first parts of the names in `SURROUNDINGS`."""


@dataclass(frozen=True)
class Source:
    """The facts about a module of the product."""

    imports: tuple[tuple[int, str], ...]
    """Line and module of every import."""
    classes: tuple[str, ...]
    names: frozenset[str]
    """All names in the code, and the words that it has as texts."""
    texts: tuple[Text, ...]
    surroundings: tuple[int, ...]
    """The lines that reach their surroundings directly."""
    hiding: tuple[tuple[int, str], ...]
    """Line and name of each parameter and local variable that hides a name of the module."""
    strings: tuple[str, ...]
    """All texts in the code, with `VALUE` for each value that is filled in."""


@functools.cache
def modules() -> tuple[Path, ...]:
    """Return the modules of the product."""
    return tuple(sorted(ROOT.rglob("*.py")))


@functools.cache
def modules_in(package: str) -> tuple[Path, ...]:
    """Return the modules of a package of the product, or of `benchmarks`."""
    inside = tuple(path for path in modules() if path.is_relative_to(ROOT / package))
    return inside or tuple(sorted((ROOT.parent / package).rglob("*.py")))


@functools.cache
def source_of(path: Path) -> Source:
    """Return the facts about a module of the product, or of the benchmarks beside it."""
    relative = path.relative_to(ROOT if path.is_relative_to(ROOT) else ROOT.parent)
    source = path.read_text(encoding="utf-8")
    nodes = nodes_of(source)
    return Source(
        imports=tuple(imported(nodes, path.relative_to(ROOT.parent).parent.parts)),
        classes=tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        names=frozenset(names(nodes)),
        texts=tuple(texts_of(relative.as_posix(), source, nodes)),
        surroundings=tuple(surroundings(nodes)),
        hiding=tuple(sorted(set(hiding(nodes)))),
        strings=tuple(strings(nodes)),
    )


def nodes_of(source: str) -> Sequence[ast.AST]:
    """Return all nodes of the tree of a module."""
    return list(ast.walk(ast.parse(source)))


def imported(nodes: Iterable[ast.AST], package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield line and module of every import in a module of a package, those inside functions too."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that code defines or uses, and the words that it has as texts."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name, asname=other):
                yield from (*name.split("."), other or name)
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text
            case _:
                pass


def hiding(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and name of each parameter, local variable and inner function that hides a name of the module.

    Names of the module are its imports, functions, classes and constants. A function may import a name again.
    """
    module = nodes[0]
    assert isinstance(module, ast.Module)
    own = {name for statement in module.body for name in _bound(statement)}
    for function in nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inside = list(ast.walk(function))
            shared = {name for each in inside if isinstance(each, ast.Global) for name in each.names}
            for each in inside:
                match each:
                    case (
                        ast.arg(arg=name, lineno=line)
                        | ast.Name(id=name, ctx=ast.Store(), lineno=line)
                        | ast.FunctionDef(name=name, lineno=line)
                        | ast.AsyncFunctionDef(name=name, lineno=line)
                        | ast.ExceptHandler(name=str(name), lineno=line)
                    ) if each is not function and name in own - shared:
                        yield line, name
                    case _:
                        pass


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds."""
    match statement:
        case ast.ImportFrom(module="__future__"):
            pass
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from ((each.asname or each.name).partition(".")[0] for each in aliases)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.If(body=body, orelse=others):
            yield from (name for each in (*body, *others) for name in _bound(each))
        case ast.Try(body=body):
            yield from (name for each in body for name in _bound(each))
        case _:
            pass


def surroundings(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield the lines that use a clock, a thread or a random name directly, or bind one of `world` before a call."""
    for node in nodes:
        match node:
            case ast.Attribute() if _first_name(node) in FIRST_NAMES and SURROUNDINGS.fullmatch(ast.unparse(node)):
                yield node.lineno
            case ast.ImportFrom(module="time" | "threading" | "uuid" | "random" | "secrets"):
                yield node.lineno
            case ast.ImportFrom(module="streams_orchestration.world"):
                yield node.lineno
            case ast.ImportFrom(module="concurrent.futures", names=names) if "ThreadPoolExecutor" in {
                n.name for n in names
            }:
                yield node.lineno
            case ast.arguments():
                given = [each for each in (*node.defaults, *node.kw_defaults) if each is not None]
                yield from (each.lineno for each in given if ast.unparse(each).startswith("world."))
            case ast.Call(keywords=keywords):
                kept = [each.value for each in keywords if each.arg == "default_factory"]
                yield from (each.lineno for each in kept if ast.unparse(each).startswith("world."))
            case _:
                pass


def _first_name(node: ast.expr) -> str | None:
    """Return the first part of a dotted name; None for another expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
