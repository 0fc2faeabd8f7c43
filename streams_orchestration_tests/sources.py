"""The source of the product as tests judge it: each module is parsed and walked once for all of them."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

import streams_orchestration

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
DIRECTIVE = re.compile(r"(?:noqa|type|pyright|fmt|ruff): \S+(?:\s+-)?\s*")
"""A comment for a tool, behind which a reason may follow."""
MENTIONS_ERRORS = re.compile(r"\b([Rr]aises?|[Rr]efuses?|[Ff]ails?|Exit|[Rr]eject)")
MENTIONS_FAULTS = re.compile(MENTIONS_ERRORS.pattern + r"|\b([Rr]eport(s|ed)?)\b")
MENTIONS_NONE = re.compile(r"\b(None|if|unless|[Nn]othing|may)\b")
MARKS_OF_CODE = {"NotImplementedError", "AssertionError", "StopIteration"}
"""Errors of code that is not reached, which no docstring needs to mention."""
CHECKING = re.compile(r"_?(check|require|refuse)(_|$)")
"""Openings of the names of functions that raise or report a fault, or do nothing."""
GIVES = re.compile(r"(Returns?|Yields?)\b")
ACTS = {
    "report": r"\b(?:report|refus)",
    **dict.fromkeys(("unlink", "rmtree", "delete"), r"\b(?:delet|remov|clear|take|drop|forget)"),
    **dict.fromkeys(
        ("insert", "update", "upsert", "write_text", "write_bytes"),
        r"\b(?:insert|add|record|writ|updat|keep|enter|stor|claim|register|note|set|begin|creat|replac|chang|mark)",
    ),
    **dict.fromkeys(("kill", "terminate"), r"\b(?:kill|end|stop)"),
}
"""Map functions that act to the openings of words by which a docstring mentions the act."""
OF_VALUES = {"insert", "update", "delete"}
"""Acts that are methods of lists and dictionaries too, so only functions of these names count."""
FIRST_NAMES = {"time", "datetime", "threading", "uuid", "os", "secrets", "random", "concurrent", "ThreadPoolExecutor"}
"""The first parts of the names in `SURROUNDINGS`."""


@dataclass(frozen=True)
class Docstring:
    """A docstring with its place."""

    place: str
    text: str
    is_function: bool
    is_property: bool = False
    is_exception: bool = False


@dataclass(frozen=True)
class Source:
    """The facts about a module of the product."""

    imports: tuple[tuple[int, str], ...]
    """Line and module of every import."""
    classes: tuple[str, ...]
    names: frozenset[str]
    """All names in the code."""
    docstrings: tuple[Docstring, ...]
    messages: tuple[tuple[int, str], ...]
    """Line and text of every literal of several words that is not a docstring."""
    descriptions: tuple[tuple[int, str], ...]
    """Line and text of every literal that is given as `description`."""
    surroundings: tuple[int, ...]
    """The lines that reach their surroundings directly."""
    silent: tuple[str, ...]
    """Place of each function with a docstring that does not mention an error of its body, or a result of None."""
    hidden_acts: tuple[tuple[str, str], ...]
    """Place of each function whose docstring opens with "Return" and leaves out an act of its body, and the act."""
    hiding: tuple[tuple[int, str], ...]
    """Line and name of each parameter and local variable that hides a name of the module."""


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
    nodes = nodes_of(path.read_text(encoding="utf-8"))
    return Source(
        imports=tuple(imported(nodes, path.relative_to(ROOT.parent).parent.parts)),
        classes=tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        names=frozenset(names(nodes)),
        docstrings=tuple(docstrings(relative.as_posix(), nodes)),
        messages=tuple(messages(nodes)),
        descriptions=tuple(descriptions(nodes)),
        surroundings=tuple(surroundings(nodes)),
        silent=tuple(f"{relative.as_posix()}:{line}" for line in silent(nodes)),
        hidden_acts=tuple((f"{relative.as_posix()}:{line}", act) for line, act in hidden_acts(nodes)),
        hiding=tuple(sorted(set(hiding(nodes)))),
    )


def of_package(package: str) -> list[Docstring]:
    """Return the docstrings of the modules of a package."""
    return [each for path in modules_in(package) for each in source_of(path).docstrings]


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
    """Yield the names of classes and imports, and those that expressions use."""
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=str(name)):
                yield name
            case ast.alias():
                yield node.asname or node.name
            case _:
                pass


def docstrings(place: str, nodes: Iterable[ast.AST]) -> Iterator[Docstring]:
    """Yield the docstrings of a module, its classes, functions and attributes."""
    for owner in nodes:
        if isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(owner)
            if text:
                where, named = f"{place}:{getattr(owner, 'lineno', 1)}", _is_property(owner)
                called = not named and isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef)
                yield Docstring(where, text, called, is_property=named, is_exception=_is_exception(owner))
        body = getattr(owner, "body", None)
        statements: list[ast.stmt] = body if isinstance(body, list) else []
        for assigned, following in pairwise(statements):
            match assigned, following:
                case ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(text))):
                    yield Docstring(f"{place}:{following.lineno}", text, is_function=False)
                case _:
                    pass


def comments(source: str) -> list[tuple[int, str]]:
    """Return line and text of every comment, without directives for tools. The lines of one comment are joined."""
    found: list[tuple[int, str]] = []
    if "#" not in source:  # half of the modules
        return found
    last, column = 0, -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, begin = token.start
            alone = not token.line[:begin].strip()
            text = DIRECTIVE.sub("", token.string.removeprefix("#").strip())
            if alone and (line, begin) == (last + 1, column):
                found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
            else:
                found.append((line, text))
            last, column = line, begin if alone else -1
    return found


def messages(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and text of every literal of several words, the parts of formatted ones too, without docstrings."""
    nodes = list(nodes)
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if id(node) not in alone and " " in text.strip():
                yield node.lineno, text
            case _:
                pass


def descriptions(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and text of every literal that a call is given as `description`."""
    for node in nodes:
        match node:
            case ast.keyword(arg="description", value=ast.Constant(value=str(text))):
                yield node.value.lineno, text
            case _:
                pass


def _is_property(owner: ast.AST) -> bool:
    """Return True for a property, whose docstring names a value as that of an attribute."""
    if not isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return any("property" in ast.unparse(decorator) for decorator in owner.decorator_list)


def _is_exception(owner: ast.AST) -> bool:
    """Return True for a class of exceptions, by the names of its bases."""
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    return any(ast.unparse(base).endswith(("Error", "Exception")) for base in bases)


def silent(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield the lines of functions and fields whose docstring leaves out an error of the body, or a value of None."""
    for function in nodes:
        if isinstance(function, ast.ClassDef | ast.FunctionDef):
            yield from _silent_fields(function.body)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(function, clean=False)
        if text is None:
            continue
        optional = function.returns is not None and ast.unparse(function.returns).endswith("| None")
        statements = list(_not_handled(function.body))
        if (
            (optional and not MENTIONS_NONE.search(text))
            or (not MENTIONS_ERRORS.search(text) and any(map(_raises, statements)))
            or (not MENTIONS_FAULTS.search(text) and any(map(_checks, statements)))
        ):
            yield function.lineno


def _silent_fields(body: Sequence[ast.stmt]) -> Iterator[int]:
    for field, following in pairwise(body):
        match field, following:
            case ast.AnnAssign(annotation=kind), ast.Expr(value=ast.Constant(value=str(text))):
                if ast.unparse(kind).endswith("| None") and not re.search("None|by default", text):
                    yield field.lineno


def _raises(statement: ast.stmt) -> bool:
    """Return True for a statement that raises an error which a docstring must mention."""
    match statement:
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)):
            return name[0].isupper() and name not in MARKS_OF_CODE
        case _:
            return False


def _checks(statement: ast.stmt) -> bool:
    """Return True for a call of a function that only checks: it raises or reports a fault, by its name."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return CHECKING.match(name) is not None
        case _:
            return False


def _not_handled(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements and the ones inside them, but none that a handler of errors or an inner function holds."""
    for statement in statements:
        yield statement
        match statement:
            case ast.Try(handlers=handlers, orelse=others, finalbody=final):
                inside = [*(each for handler in handlers for each in handler.body), *others, *final]
                if not handlers:
                    inside += statement.body
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                inside = []
            case ast.Match(cases=cases):
                inside = [each for case in cases for each in case.body]
            case _:
                inside = [*getattr(statement, "body", ()), *getattr(statement, "orelse", ())]
        yield from _not_handled(inside)


def hidden_acts(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and act of each function whose docstring opens with "Return" or "Yield" and leaves out an act.

    Acts are calls of the functions in `ACTS`. The first one that is left out is given.
    """
    for function in nodes:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(function, clean=False) or ""
        if GIVES.match(text) is None:
            continue
        acts = (act for node in ast.walk(function) if (act := _act(node)) in ACTS)
        act = next((act for act in acts if re.search(ACTS[act], text, re.IGNORECASE) is None), None)
        if act is not None:
            yield function.lineno, act


def _act(node: ast.AST) -> str:
    """Return the name of a called function that may act; empty for other nodes, and for methods of values."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Call(func=ast.Attribute(attr=name)):
            return "" if name in OF_VALUES else name
        case _:
            return ""


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
