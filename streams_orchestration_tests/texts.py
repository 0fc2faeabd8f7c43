"""The texts of modules as tests judge them: docstrings, messages, descriptions of parameters, and comments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

LITERAL_OR_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|#[^\n]*'
    r"|'''(?:\\.|[^\\])*?'''|'(?:\\.|[^'\\\n])*'",
    re.DOTALL,
)
"""A text of Python, in which a `#` begins no comment, or a comment."""
DIRECTIVE = re.compile(r"(?:noqa|type|pyright|fmt|ruff): \S+(?:\s+-)?\s*")
"""A comment for a tool, behind which a reason may follow."""
MENTIONS_NONE = re.compile(r"\b(None|if|unless|[Nn]othing|may)\b")
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


VALUE = "<x>"
"""Stands for a value that a message fills in."""


@dataclass(frozen=True)
class Text:
    """A text with its kind and place."""

    kind: str
    """For a docstring: function, property, exception, or docstring for all else. Or message, description, comment."""
    place: str
    text: str
    silent: bool = False
    """True for a docstring that leaves out that a result or field may be None."""
    hidden_act: str = ""
    """The act of a function's body that its docstring, which opens with "Return" or "Yield", leaves out."""


def texts_of(place: str, source: str, nodes: Iterable[ast.AST]) -> Iterator[Text]:
    """Yield the texts of a module."""
    nodes = list(nodes)
    yield from docstrings(place, nodes)
    yield from (Text("message", f"{place}:{line}", text) for line, text in messages(nodes))
    yield from (Text("description", f"{place}:{line}", text) for line, text in descriptions(nodes))
    yield from (Text("comment", f"{place}:{line}", text) for line, text in comments(source))


def docstrings(place: str, nodes: Iterable[ast.AST]) -> Iterator[Text]:
    """Yield the docstrings of a module, its classes, functions and attributes."""
    for owner in nodes:
        if isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(owner)
            if text:
                where = f"{place}:{getattr(owner, 'lineno', 1)}"
                if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
                    kind = "property" if _is_property(owner) else "function"
                    yield Text(kind, where, text, is_silent(owner, text), hidden_act(owner, text))
                else:
                    yield Text("exception" if _is_exception(owner) else "docstring", where, text)
        body = getattr(owner, "body", None)
        statements: list[ast.stmt] = body if isinstance(body, list) else []
        for assigned, following in pairwise(statements):
            match assigned, following:
                case ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(text))):
                    is_field = isinstance(owner, ast.ClassDef | ast.FunctionDef)
                    silent = is_field and is_silent_field(assigned, text)
                    yield Text("docstring", f"{place}:{following.lineno}", text, silent)
                case _:
                    pass


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


def strings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every text in the code, with `VALUE` for each value that is filled in."""
    for node in nodes:
        match node:
            case ast.JoinedStr(values=values):
                yield "".join(str(each.value) if isinstance(each, ast.Constant) else VALUE for each in values)
            case ast.Constant(value=str(text)):
                yield text
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


def comments(source: str) -> list[tuple[int, str]]:
    """Return line and text of every comment, without directives for tools. The lines of one comment are joined."""
    found: list[tuple[int, str]] = []
    last, column, line, at = 0, -1, 1, 0
    for match in LITERAL_OR_COMMENT.finditer(source):
        if not match[0].startswith("#"):
            continue
        line += source.count("\n", at, match.start())
        at = match.start()
        before = source[source.rfind("\n", 0, at) + 1 : at]
        alone = not before.strip()
        text = DIRECTIVE.sub("", match[0].removeprefix("#").strip())
        if alone and (line, len(before)) == (last + 1, column):
            found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
        else:
            found.append((line, text))
        last, column = line, len(before) if alone else -1
    return found


def _is_property(owner: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True for a property, whose docstring names a value as that of an attribute."""
    return any("property" in ast.unparse(decorator) for decorator in owner.decorator_list)


def _is_exception(owner: ast.Module | ast.ClassDef) -> bool:
    """Return True for a class of exceptions, by the names of its bases."""
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    return any(ast.unparse(base).endswith(("Error", "Exception")) for base in bases)


def is_silent(function: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> bool:
    """Return True if a docstring leaves out that the result may be None."""
    optional = function.returns is not None and ast.unparse(function.returns).endswith("| None")
    return optional and not MENTIONS_NONE.search(text)


def is_silent_field(field: ast.stmt, text: str) -> bool:
    """Return True if a docstring leaves out that its field may be None."""
    optional = isinstance(field, ast.AnnAssign) and ast.unparse(field.annotation).endswith("| None")
    return optional and not re.search("None|by default", text)


def hidden_act(function: ast.AST, text: str) -> str:
    """Return the first act of a function's body that a docstring with "Return" or "Yield" leaves out; empty for none.

    Acts are calls of the functions in `ACTS`.
    """
    if GIVES.match(text) is None:
        return ""
    acts = (act for node in ast.walk(function) if (act := _act(node)) in ACTS)
    return next((act for act in acts if re.search(ACTS[act], text, re.IGNORECASE) is None), "")


def _act(node: ast.AST) -> str:
    """Return the name of a called function that may act; empty for other nodes, and for methods of values."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name
        case ast.Call(func=ast.Attribute(attr=name)):
            return "" if name in OF_VALUES else name
        case _:
            return ""
