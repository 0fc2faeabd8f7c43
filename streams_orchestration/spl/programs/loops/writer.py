"""Construction of Python syntax trees from templates, with the objects and temporary variables that they use."""

from __future__ import annotations

import ast
import copy
import functools
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from streams_orchestration.spl.programs.values import first_entries


class PythonCode(NamedTuple):
    """A Python expression, with the lowest and highest value that it may have if that is an integer."""

    node: ast.expr
    low: int = 0
    high: int = 0


@functools.lru_cache(maxsize=512)
def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@functools.lru_cache(maxsize=128)
def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


class _Filling(ast.NodeTransformer):
    """Replaces names in a Python tree by other trees, and sets the line of every node."""

    def __init__(self, line: int, nodes: dict[str, ast.expr]) -> None:
        self.line = line
        self.nodes = nodes

    def visit(self, node: ast.AST) -> Any:
        """Return the node with names replaced by their trees and with the current line."""
        if isinstance(node, ast.Name) and node.id in self.nodes:
            return self.nodes[node.id]
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.end_lineno = self.line
            node.col_offset = node.end_col_offset = 0
        return self.generic_visit(node)


@dataclass
class Writer:
    """The state of generating one Python module.

    Attributes:
        objects: the Python objects that the generated code uses, by the names that it uses for them.
        line: the line of the SPL file for which code is being generated.
    """

    objects: dict[str, Any] = field(default_factory=dict[str, Any])
    line: int = 1
    _names: dict[int, str] = field(default_factory=dict[int, str])
    _count: int = 0

    def fresh(self) -> str:
        """Make up the name of a new Python variable."""
        self._count += 1
        return f"_t{self._count}"

    def expression(self, text: str, **nodes: ast.expr) -> ast.expr:
        """Parse a Python expression, and replace the names that are given as arguments by their trees."""
        return _Filling(self.line, nodes).visit(copy.deepcopy(_expression(text)))

    def statements(self, text: str, **nodes: ast.expr) -> list[ast.stmt]:
        """Parse Python statements, and replace the names that are given as arguments by their trees."""
        filling = _Filling(self.line, nodes)
        return [filling.visit(copy.deepcopy(each)) for each in _statements(text)]

    def name(self, name: str) -> ast.expr:
        """Return a Python expression that reads a variable."""
        return self.placed(ast.Name(name, ast.Load()))

    def constant(self, value: Any) -> ast.expr:
        """Return a Python expression for a constant; a decimal is added to `objects`."""
        if isinstance(value, Decimal):
            return self.known(value, "decimal")
        return self.placed(ast.Constant(value))

    def let(self, name: str, value: ast.expr) -> ast.expr:
        """Return the assignment of a variable as an expression (`name := value`)."""
        return self.placed(ast.NamedExpr(self.placed(ast.Name(name, ast.Store())), value))

    def assign(self, name: str, value: ast.expr) -> ast.stmt:
        """Return the assignment of a variable as a statement."""
        return self.placed(ast.Assign([self.placed(ast.Name(name, ast.Store()))], value))

    def placed(self, node: Any) -> Any:
        """Set the line number of a node to the current line of the SPL file; return the node."""
        node.lineno = node.end_lineno = self.line
        node.col_offset = node.end_col_offset = 0
        return node

    def map_of(self, keys: list[ast.expr], values: list[ast.expr], *, distinct: bool) -> ast.expr:
        """Return a Python expression for a map; of values for equal keys, unless all are distinct, the first counts."""
        if distinct or len(keys) < 2:
            return self.placed(ast.Dict([*keys], values))
        pairs = [self.placed(ast.Tuple(list(pair), ast.Load())) for pair in zip(keys, values, strict=True)]
        return self.call(first_entries, self.placed(ast.List(pairs, ast.Load())), hint="entries")

    def known(self, thing: Any, hint: str) -> ast.expr:
        """Add an object that the code uses to `objects`, once, and return a Python expression that reads it."""
        key = id(thing)
        if key not in self._names:
            self._names[key] = name = f"_{hint}_{len(self._names)}"
            self.objects[name] = thing
        return self.name(self._names[key])

    def call(self, function: Any, *arguments: ast.expr, hint: str = "f") -> ast.expr:
        """Return the Python call of a function: a tree, or an object, which is added to `objects`."""
        called = function if isinstance(function, ast.expr) else self.known(function, hint)
        return self.placed(ast.Call(called, list(arguments), []))


def is_simple(node: ast.expr) -> bool:
    """Return True if a Python expression may be evaluated twice: it has no effect and costs almost nothing."""
    return isinstance(node, ast.Name | ast.Constant)
