"""Canonical text of syntax trees: no comments, single blanks where necessary, no redundant parentheses.

Parsing the text gives an equal tree.

>>> from streams_orchestration.spl.language.expressions import expression_of
>>> text_of(expression_of("((a)+ b)*'text'"))
'(a + b) * "text"'
"""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration.spl.language.expressions import CHOICE, LEVELS, OR_ELSE
from streams_orchestration.spl.language.tokens import string_text
from streams_orchestration.spl.language.tree import (
    AttributeDeclaration,
    Binary,
    Block,
    BraceLiteral,
    Break,
    Call,
    Cast,
    Choice,
    CollectionType,
    Continue,
    Entry,
    EnumType,
    Expression,
    ExpressionStatement,
    For,
    If,
    Index,
    ListLiteral,
    LocalDeclaration,
    Member,
    Name,
    NamedType,
    Node,
    Number,
    OptionalType,
    Postfix,
    Prefix,
    PrimitiveType,
    Return,
    Slice,
    Text,
    TupleType,
    TypeDefinition,
    Variable,
    While,
    Word,
)

_PREFIX, _POSTFIX = OR_ELSE + 1, OR_ELSE + 2
_SUFFIXES = {"rstring": "", "ustring": "u", "xml": "x"}


def text_of(node: Node) -> str:
    """Return the canonical text of an expression, type or statement.

    Raises:
        TypeError: the node is not an expression, type or statement.
    """
    match node:
        case Name() | Number() | Text() | Word() | ListLiteral() | BraceLiteral():
            return _primary(node)
        case Call() | Member() | Index() | Slice() | Postfix() | Prefix() | Cast() | Binary() | Choice():
            return _operation(node)
        case Entry():
            return text_of(node.key) if node.value is None else f"{text_of(node.key)} : {text_of(node.value)}"
        case NamedType() | PrimitiveType() | EnumType() | TupleType() | CollectionType() | OptionalType():
            return _type(node)
        case AttributeDeclaration():
            return f"{text_of(node.type)} {node.name}"
        case _:
            return _statement(node)


def texts_of(nodes: Iterable[Node], between: str = ", ") -> str:
    """Return the canonical texts of nodes as one text, separated by `between`."""
    return between.join(map(text_of, nodes))


def _within(node: Expression, least: int) -> str:
    """Return the text of an operand, in parentheses if its operator binds less tightly than `least`."""
    text = text_of(node)
    return text if _level(node) >= least else f"({text})"


def _level(node: Expression) -> int:
    match node:
        case Binary():
            return LEVELS[node.operator]
        case Choice():
            return CHOICE
        case Prefix() | Cast():
            return _PREFIX
        case _:
            return _POSTFIX


def _primary(node: Name | Number | Text | Word | ListLiteral | BraceLiteral) -> str:
    match node:
        case Name():
            return str(node)
        case Text():
            return string_text(node.value) + _SUFFIXES[node.kind]
        case ListLiteral():
            return f"[{texts_of(node.elements)}]"
        case BraceLiteral():
            return f"{{{texts_of(node.entries)}}}"
        case _:
            return node.text


def _operation(node: Call | Member | Index | Slice | Postfix | Prefix | Cast | Binary | Choice) -> str:
    match node:
        case Call():
            return f"{_within(node.function, _POSTFIX)}({texts_of(node.arguments)})"
        case Member(operand=Number()):
            return f"({text_of(node.operand)}).{node.name}"  # 1.x would begin with the number 1.
        case Member():
            return f"{_within(node.operand, _POSTFIX)}.{node.name}"
        case Index():
            return f"{_within(node.operand, _POSTFIX)}[{text_of(node.index)}]"
        case Slice():
            lower, upper = ("" if each is None else text_of(each) for each in (node.lower, node.upper))
            return f"{_within(node.operand, _POSTFIX)}[{lower}:{upper}]"
        case Postfix():
            return _within(node.operand, _POSTFIX) + node.operator
        case Prefix():
            operand = _within(node.operand, _PREFIX)
            return node.operator + (" " if operand[0] == node.operator[-1] else "") + operand
        case Cast():
            return f"({text_of(node.type)}) {_within(node.operand, _PREFIX)}"
        case Binary():
            level = LEVELS[node.operator]
            left = _within(node.left, level + 1 if level == OR_ELSE else level)
            return f"{left} {node.operator} {_within(node.right, level + 1)}"
        case Choice():
            condition = _within(node.condition, CHOICE + 1)
            return f"{condition} ? {_within(node.positive, CHOICE)} : {_within(node.negative, CHOICE)}"


def _type(node: NamedType | PrimitiveType | EnumType | TupleType | CollectionType | OptionalType) -> str:
    match node:
        case NamedType():
            return f"{node.name}.{node.member}" if node.member else str(node.name)
        case PrimitiveType():
            schema = "" if node.schema is None else f"<{string_text(node.schema)}>"
            return f"{node.name}{schema}{_bound(node.bound)}"
        case EnumType():
            return f"enum{{{texts_of(node.words)}}}"
        case TupleType():
            return f"tuple<{inner_of(node)}>"
        case CollectionType():
            return f"{node.kind}<{texts_of(node.elements)}>{_bound(node.bound)}"
        case OptionalType():
            return f"optional<{text_of(node.content)}>"


def inner_of(node: TupleType) -> str:
    """Return the text between the angle brackets of a tuple type."""
    return texts_of(node.attributes or node.bases)


def _bound(bound: Expression | None) -> str:
    return "" if bound is None else f"[{text_of(bound)}]"


def _statement(node: Node) -> str:
    match node:
        case LocalDeclaration():
            return f"{'mutable ' * node.mutable}{text_of(node.type)} {texts_of(node.variables)};"
        case Variable():
            return str(node.name) if node.value is None else f"{node.name} = {text_of(node.value)}"
        case ExpressionStatement():
            text = text_of(node.expression)
            return f"({text});" if text.startswith("{") else f"{text};"
        case Block():
            return f"{{ {texts_of(node.statements, ' ')} }}" if node.statements else "{ }"
        case If():
            otherwise = "" if node.negative is None else f" else {text_of(node.negative)}"
            return f"if ({text_of(node.condition)}) {text_of(node.positive)}{otherwise}"
        case While():
            return f"while ({text_of(node.condition)}) {text_of(node.body)}"
        case For():
            return f"for ({text_of(node.type)} {node.name} in {text_of(node.collection)}) {text_of(node.body)}"
        case Break():
            return "break;"
        case Continue():
            return "continue;"
        case Return():
            return "return;" if node.value is None else f"return {text_of(node.value)};"
        case TypeDefinition():
            return f"type {node.name} = {text_of(node.type)};"
        case _:
            message = f"{type(node).__name__} is neither an expression, a type nor a statement"
            raise TypeError(message)
