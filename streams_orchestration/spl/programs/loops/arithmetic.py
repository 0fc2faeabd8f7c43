"""Python code for SPL arithmetic: integer results are wrapped unless the operands' ranges exclude an overflow.

>>> from streams_orchestration.spl.types.types import INT32
>>> writer = Writer()
>>> index = PythonCode(writer.name("i"), 0, 100)
>>> print(ast.unparse(arithmetic(writer, "+", INT32, index, PythonCode(writer.constant(1), 1, 1)).node))
i + 1
>>> counter = PythonCode(writer.name("n"), -(2**31), 2**31 - 1)
>>> print(ast.unparse(arithmetic(writer, "+", INT32, counter, PythonCode(writer.constant(1), 1, 1)).node))
_t1 if -2147483648 <= (_t1 := (n + 1)) <= 2147483647 else _cut_0(_t1)
"""

from __future__ import annotations

# pyright: standard
import ast

from streams_orchestration.spl.programs.loops.writer import PythonCode, Writer, is_simple
from streams_orchestration.spl.programs.operations import operation
from streams_orchestration.spl.programs.wrapping import wrapper
from streams_orchestration.spl.types.types import FLOATS, INTEGERS, SIGNED, Primitive, Type, is_string, range_of


def arithmetic(writer: Writer, operator: str, type_: Type, left: PythonCode, right: PythonCode) -> PythonCode:
    """Return the code of an operator other than a comparison, with two numbers, strings, times or booleans."""
    if isinstance(type_, Primitive) and type_ in INTEGERS:
        return _integers(writer, operator, type_, left, right)
    plain = is_string(type_) or (type_ in FLOATS and FLOATS[type_] == 64) or type_ == Primitive("boolean")  # type: ignore[index]
    divides = operator == "/" and not (isinstance(right.node, ast.Constant) and right.node.value)
    if plain and not divides:
        return PythonCode(writer.expression(f"x {operator} y", x=left.node, y=right.node))
    return PythonCode(writer.call(operation(operator, type_, type_), left.node, right.node, hint="operation"))


def _integers(writer: Writer, operator: str, type_: Primitive, left: PythonCode, right: PythonCode) -> PythonCode:
    if operator in ("/", "%"):
        return _divided(writer, operator, type_, left, right)
    if operator in ("<<", ">>"):
        return _shifted(writer, operator, type_, left, right)
    node = writer.expression(f"x {operator} y", x=left.node, y=right.node)
    if operator in ("&", "|", "^"):
        low, high = range_of(type_)
        if operator == "&" and (left.low >= 0 or right.low >= 0):
            return PythonCode(node, 0, min(each.high for each in (left, right) if each.low >= 0))
        return PythonCode(node, low, high)
    if operator == "+":
        low, high = left.low + right.low, left.high + right.high
    elif operator == "-":
        low, high = left.low - right.high, left.high - right.low
    else:
        corners = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
        low, high = min(corners), max(corners)
    return _cut(writer, type_, PythonCode(node, low, high))


def _cut(writer: Writer, type_: Primitive, code: PythonCode) -> PythonCode:
    """Return an expression that wraps an integer to its type, unless its range shows that it fits."""
    low, high = range_of(type_)
    if low <= code.low and code.high <= high:
        return code
    if type_ not in SIGNED:
        return PythonCode(writer.expression("x & m", x=code.node, m=writer.constant(high)), 0, high)
    name = writer.fresh()
    read = writer.name(name)
    node = writer.expression(
        f"t if {low} <= x <= {high} else w(t)",
        t=read,
        x=writer.let(name, code.node),
        w=writer.known(wrapper(type_), "cut"),
    )
    return PythonCode(node, low, high)


def _divided(writer: Writer, operator: str, type_: Primitive, left: PythonCode, right: PythonCode) -> PythonCode:
    symbol = "//" if operator == "/" else "%"
    low, high = range_of(type_)
    if right.low > 0:
        if operator == "/":
            low, high = min(left.low, 0), max(left.high, 0)
        else:
            low, high = (0 if left.low >= 0 else 1 - right.high), right.high - 1
        if left.low >= 0:
            return PythonCode(writer.expression(f"x {symbol} y", x=left.node, y=right.node), low, high)
        if is_simple(right.node):
            name = writer.fresh()
            read, test = writer.name(name), left.node
            if is_simple(left.node):
                read = left.node
            else:
                test = writer.let(name, left.node)
            text = f"t {symbol} y if x >= 0 else -(-t {symbol} y)"
            return PythonCode(writer.expression(text, x=test, t=read, y=right.node), low, high)
    node = writer.call(operation(operator, type_, type_), left.node, right.node, hint="divide")
    return PythonCode(node, low, high)


def _shifted(writer: Writer, operator: str, type_: Primitive, left: PythonCode, right: PythonCode) -> PythonCode:
    if right.low == right.high and 0 <= right.low < INTEGERS[type_]:
        node = writer.expression(f"x {operator} y", x=left.node, y=right.node)
        if operator == ">>":
            return PythonCode(node, left.low >> right.low, left.high >> right.low)
        return _cut(writer, type_, PythonCode(node, left.low << right.low, left.high << right.low))
    node = writer.call(operation(operator, type_, type_), left.node, right.node, hint="shift")
    return PythonCode(node, *range_of(type_))
