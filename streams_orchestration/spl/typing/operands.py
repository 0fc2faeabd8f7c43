"""Types of operations by the types of their operands.

>>> from streams_orchestration.spl.types.types import INT32, INT64, Collection
>>> str(result_of("<", Collection("list", (INT32,)), INT32))
'list<boolean>'
>>> result_of("+", INT32, INT64)
WrongOperands(code='CDISP0046E', message="the operands of '+' are int32 and int64: they must have one type")
"""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.spl.functions.overloads import is_of_class
from streams_orchestration.spl.types.types import BOOLEAN, EMPTY_BRACES, INTEGERS, UNKNOWN, Collection, Type

KINDS = {
    "+": "addable",
    "-": "subtractable",
    "*": "numeric",
    "/": "numeric",
    "%": "integral",
    "^": "integral",
    "&": "andorable",
    "|": "andorable",
    "&&": "boolean",
    "||": "boolean",
    "<": "ordered",
    "<=": "ordered",
    ">": "ordered",
    ">=": "ordered",
    "==": "equatable",
    "!=": "equatable",
}
"""Operator -> the class of types that it accepts."""
_WORDS = {
    "addable": "numbers, timestamps or strings",
    "subtractable": "numbers or timestamps",
    "numeric": "numbers",
    "integral": "integers",
    "andorable": "integers or booleans",
    "boolean": "boolean",
    "ordered": "values that have an order",
    "equatable": "values other than XML",
}
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
SHIFTS = frozenset({"<<", ">>"})


@dataclass(frozen=True, slots=True)
class WrongOperands:
    """The reason why an operator rejects its operands."""

    code: str
    message: str


def mapped_type(type_: Type) -> Type | None:
    """Return the element type to which a dotted operator such as `.+` applies; None unless the type is a list or a map.

    For a list it is the type of its elements, for a map the type of its values.
    """
    return type_.elements[-1] if isinstance(type_, Collection) and type_.kind != "set" else None


def with_elements(collection: Type, element: Type) -> Type:
    """Return a list or map type with another type of elements or values."""
    assert isinstance(collection, Collection)
    return Collection(collection.kind, (*collection.elements[:-1], element), collection.bound)


def result_of(operator: str, left: Type, right: Type) -> Type | WrongOperands:
    """Return the result type of a binary operation other than `in`, `?:` and assignments, or the reason of a misfit.

    With an operand of unknown type it is boolean for a comparison, `&&` and `||`, and otherwise `UNKNOWN`.
    """
    if UNKNOWN in (left, right):
        return BOOLEAN if operator in COMPARISONS or operator in ("&&", "||") else UNKNOWN
    plain = operator.removeprefix(".")
    if plain in SHIFTS:
        return _shifted(operator, left, right)
    if plain != operator:
        return _pairwise(operator, left, right)
    inner, result = _relation(left, right)
    if inner is None:
        message = f"the operands of '{operator}' are {left} and {right}: they must have one type"
        return WrongOperands("CDISP0046E", message)
    if not is_of_class(inner, KINDS[operator]):
        return _wrong_kind(operator, left, right)
    if operator not in COMPARISONS:
        return result
    return BOOLEAN if left == right else with_elements(result, BOOLEAN)


def _relation(left: Type, right: Type) -> tuple[Type | None, Type]:
    """Return the type to which an operator applies, and the type of the result; None and `UNKNOWN` for a misfit.

    If one operand is a list or a map of the other operand's type, the operator applies to each element.
    """
    if left == right:
        return left, left
    if mapped_type(right) == left:
        return left, right
    if mapped_type(left) == right:
        return right, left
    return None, UNKNOWN


def _pairwise(operator: str, left: Type, right: Type) -> Type | WrongOperands:
    element = mapped_type(left)
    if element is None or left != right:
        message = f"the operands of '{operator}' are {left} and {right}: they must be lists or maps of one type"
        return WrongOperands("CDISP0046E", message)
    plain = operator.removeprefix(".")
    if not is_of_class(element, KINDS[plain]):
        return _wrong_kind(operator, left, right)
    return with_elements(left, BOOLEAN) if plain in COMPARISONS else left


def _wrong_kind(operator: str, left: Type, right: Type) -> WrongOperands:
    shown = str(left) if left == right else f"{left} and {right}"
    message = f"'{operator}' does not take {shown}: its operands are {_WORDS[KINDS[operator.removeprefix('.')]]}"
    return WrongOperands("CDISP0658E", message)


def _shifted(operator: str, left: Type, right: Type) -> Type | WrongOperands:
    of_left, of_right = mapped_type(left), mapped_type(right)
    dotted = operator.startswith(".")
    inner = (left if of_left is None else of_left, right if of_right is None else of_right)
    both, neither = of_left is not None and of_right is not None, of_left is None and of_right is None
    if all(each in INTEGERS for each in inner) and (both if dotted else not both):
        return left if dotted or neither or of_left is not None else with_elements(right, left)
    message = f"the operands of '{operator}' are {left} and {right}: both must be integers"
    return WrongOperands("CDISP0657E", message)


def is_in(element: Type, collection: Type) -> bool:
    """Return True if `in` accepts two types: an element and its list or set, or a key and its map, or `{}`."""
    if isinstance(collection, Collection):
        return UNKNOWN in (element, collection.elements[0]) or element == collection.elements[0]
    return collection == EMPTY_BRACES
