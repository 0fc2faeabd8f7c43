"""The names that the code of an expression may use, and facts about its values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.programs.casting import makes_new
from streams_orchestration.spl.programs.loops.names import Names, PythonVariable
from streams_orchestration.spl.programs.loops.writer import Writer
from streams_orchestration.spl.programs.natives import NativeFunction
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.programs.values import (
    is_compound,
)
from streams_orchestration.spl.types.types import (
    INTEGERS,
    Collection,
    Optional,
    Primitive,
    Tuple,
    Type,
    range_of,
)
from streams_orchestration.spl.typing import typed


@dataclass
class CodeScope:
    """The variables and functions that a Python expression may use while it is generated.

    Attributes:
        names: the Python variables of SPL variables.
        ports: the Python variable of each input attribute that is read, by port and attribute.
        tuples: the type of the tuple of each input port.
        functions: the Python name of each function of the program, by its signature.
        natives: the native functions by their signatures.
    """

    writer: Writer
    run: Run
    names: Names = field(default_factory=Names)
    ports: dict[tuple[str, str], PythonVariable] = field(default_factory=dict[tuple[str, str], PythonVariable])
    tuples: dict[str, Tuple] = field(default_factory=dict[str, Tuple])
    functions: dict[Signature, str] = field(default_factory=dict[Signature, str])
    natives: dict[Signature, NativeFunction] = field(default_factory=dict[Signature, NativeFunction])
    special: dict[str, Callable[..., ast.expr]] = field(default_factory=dict[str, Callable[..., ast.expr]])

    def attribute(self, port: str, name: str, type_: Type) -> PythonVariable:
        """Return the Python variable of an input attribute, and note in `ports` that the attribute is read."""
        key = (port, name)
        if key not in self.ports:
            self.ports[key] = PythonVariable(f"a{len(self.ports)}_{name}", type_, mutable=False)
        return self.ports[key]


def value_range(type_: Type) -> tuple[int, int]:
    """Return the smallest and largest value of an integer type; for other types, (0, 0) without a meaning."""
    return range_of(type_) if isinstance(type_, Primitive) and type_ in INTEGERS else (0, 0)


def is_new(node: typed.Expression) -> bool:
    """Return True if no variable or collection refers to the value of an expression or a changeable part."""
    if not is_compound(node.type):
        return True
    match node:
        case typed.Constant() | typed.ListOf() | typed.SetOf() | typed.MapOf() | typed.TupleOf():
            return True
        case typed.Call(signature=signature):
            return not signature.is_builtin or not _has_compound_parts(node.type)
        case typed.Binary(operator="?:", left=left, right=right):
            return is_new(left) and is_new(right)
        case typed.Binary():
            return True
        case typed.Slice():
            return not _has_compound_parts(node.type)
        case typed.PortTuple():
            return not _has_compound_parts(node.type)
        case typed.Choice(positive=positive, negative=negative):
            return is_new(positive) and is_new(negative)
        case typed.Cast(operand=operand) | typed.Convert(operand=operand):
            new = makes_new(operand.type, node.type) and not _has_compound_parts(node.type)
            return is_new(operand) or new
        case _:
            return False


def _has_compound_parts(type_: Type) -> bool:
    match type_:
        case Optional(content=content):
            return _has_compound_parts(content)
        case Tuple(attributes=attributes):
            return any(is_compound(each.type) for each in attributes)
        case Collection(elements=elements):
            return any(map(is_compound, elements))
        case _:
            return False
