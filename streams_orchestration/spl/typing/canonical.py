"""Canonical text of typed trees: names are resolved, literals and conversions have types, constants are folded.

Parsing the text and typing it in the scope of its operator gives an equal typed tree, whatever type is expected.

>>> from streams_orchestration.spl.language.expressions import expression_of
>>> from streams_orchestration.spl.typing.checking import check_expression
>>> from streams_orchestration.spl.typing.scopes import Port, Scope, port_scope
>>> from streams_orchestration.spl.types.types import INT64, TupleAttribute, Tuple
>>> scope = port_scope(Scope(), [Port("Src", Tuple((TupleAttribute("n", INT64),)))])
>>> text = "(n+(int64) 2) in [ ] || n<-5l /* not yet */"
>>> canonical_text(check_expression(expression_of(text), scope, Source.of(text), []))
'Src.n + 2l in (list<int64>) [] || Src.n < -5l'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.types.literals import number_text
from streams_orchestration.spl.types.types import (
    EMPTY_BRACES,
    UNKNOWN,
    VOID,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
)
from streams_orchestration.spl.typing.spans import Source
from streams_orchestration.spl.typing.typed import (
    Assign,
    Binary,
    Block,
    Break,
    Call,
    Cast,
    Choice,
    Constant,
    Continue,
    Convert,
    Declare,
    Evaluate,
    Expression,
    For,
    Function,
    If,
    Index,
    ListOf,
    MapOf,
    Member,
    OutputCall,
    PortAttribute,
    PortTuple,
    Postfix,
    Prefix,
    Return,
    SetOf,
    Slice,
    Statement,
    Submit,
    TupleOf,
    Variable,
    While,
)

__all__ = ["Source", "canonical_function", "canonical_text", "tree_of", "type_tree"]


def canonical_text(node: Expression | Statement | Sequence[Statement]) -> str:
    """Return the canonical text of an expression, a statement, or several statements.

    Raises:
        ValueError: the tree contains an expression with a mistake.
    """
    if isinstance(node, Sequence):
        return " ".join(text_of(statement_tree(each)) for each in node)
    if isinstance(node, Declare | Block | Evaluate | If | While | For | Break | Continue | Return):
        return text_of(statement_tree(node))
    return text_of(tree_of(node))


class Lined(NamedTuple):
    """A canonical text that has a line break between statements wherever the source has one."""

    text: str
    lines: tuple[int, ...]
    """The source line of each line of the text."""


def lined_text(statements: Sequence[Statement]) -> Lined:
    """Return the canonical text of statements with their source lines.

    Raises:
        ValueError: the tree contains an expression with a mistake.
    """
    return _lined(piece for each in statements for piece in _pieces(each))


def lined_function(function: Function) -> Lined:
    """Return the text of `canonical_function` with the source lines of its statements; raise ValueError like it."""
    return _lined([(function.span.line, _head(function)), *_pieces(function.body)])


def _lined(pieces: Iterable[tuple[int, str]]) -> Lined:
    lines: list[tuple[int, list[str]]] = []
    for line, text in pieces:
        if not lines or lines[-1][0] != line:
            lines.append((line, []))
        lines[-1][1].append(text)
    return Lined("\n".join(" ".join(texts) for _, texts in lines), tuple(line for line, _ in lines))


def _pieces(node: Statement) -> Iterator[tuple[int, str]]:
    """Yield the parts of a statement's canonical text, each with its source line; blanks join them to the text.

    Raises ValueError if it contains an expression with a mistake, and TypeError if it is not a statement.
    """
    line = node.span.line
    match node:
        case Block(statements=statements):
            yield line, "{"
            for each in statements:
                yield from _pieces(each)
            yield node.span.source.place(node.span.last)[0], "}"
        case If():
            yield line, f"if ({canonical_text(node.condition)})"
            yield from _pieces(node.positive)
            if node.negative is not None:
                yield node.negative.span.line, "else"
                yield from _pieces(node.negative)
        case While():
            yield line, f"while ({canonical_text(node.condition)})"
            yield from _pieces(node.body)
        case For():
            collection = canonical_text(node.collection)
            yield line, f"for ({text_of(type_tree(node.type))} {node.name} in {collection})"
            yield from _pieces(node.body)
        case _:
            yield line, canonical_text(node)


def canonical_function(function: Function) -> str:
    """Return a function as the text of a file: its namespace, and its definition without named types.

    Raises:
        ValueError: the function contains a mistake.
    """
    return f"{_head(function)} {canonical_text(function.body)}"


def _head(function: Function) -> str:
    signature = function.signature
    namespace = f"namespace {signature.namespace}; " if signature.namespace else ""
    result = "void" if signature.result == VOID else text_of(type_tree(signature.result))
    parameters = ", ".join(
        f"{'mutable ' * each.mutable}{text_of(type_tree(each.type))} {name}"
        for each, name in zip(signature.parameters, function.names, strict=True)
    )
    return f"{namespace}{'stateful ' * signature.stateful}{result} {signature.name}({parameters})"


def tree_of(node: Expression) -> tree.Expression:
    """Return a typed expression as a syntax tree without places.

    Raises:
        ValueError: the expression contains a mistake.
    """
    match node:
        case Constant():
            return _constant(node)
        case Variable(name=name) | PortTuple(port=name):
            return _name(name)
        case PortAttribute(port=port, name=name):
            return tree.Member(0, 0, _name(port), _name(name))
        case ListOf() | SetOf() | MapOf() | TupleOf():
            return _literal(node)
        case Call() | OutputCall() | Submit():
            return _call(node)
        case _:
            return _operation(node)


def type_tree(type_: Type) -> tree.Type:
    """Return a type as a syntax tree without places and without named types.

    Raises:
        ValueError: no program can write the type.
    """
    match type_:
        case Primitive(name=name):
            return tree.PrimitiveType(0, 0, name, None, None)
        case BoundedString(bound=bound):
            return tree.PrimitiveType(0, 0, "rstring", _bound(bound), None)
        case Enumeration(words=words):
            return tree.EnumType(0, 0, tuple(map(_name, words)))
        case Collection(kind=kind, elements=elements, bound=bound):
            limit = None if bound is None else _bound(bound)
            return tree.CollectionType(0, 0, kind, tuple(map(type_tree, elements)), limit)
        case Optional(content=content):
            return tree.OptionalType(0, 0, type_tree(content))
        case Tuple(attributes=attributes):
            declared = (tree.AttributeDeclaration(0, 0, type_tree(each.type), _name(each.name)) for each in attributes)
            return tree.TupleType(0, 0, tuple(declared), ())
        case _:
            message = f"no program can write the type {type_}"
            raise ValueError(message)


def statement_tree(node: Statement) -> tree.Statement:
    """Return a typed statement as a syntax tree without places.

    Raises:
        ValueError: the statement contains a mistake.
    """
    match node:
        case Declare():
            value = None if node.value is None else tree_of(node.value)
            variable = tree.Variable(0, 0, _name(node.name), value)
            return tree.LocalDeclaration(0, 0, node.mutable, type_tree(node.type), (variable,))
        case Block(statements=statements):
            return tree.Block(0, 0, tuple(map(statement_tree, statements)))
        case Evaluate(expression=expression):
            return tree.ExpressionStatement(0, 0, tree_of(expression))
        case If():
            negative = None if node.negative is None else statement_tree(node.negative)
            return tree.If(0, 0, tree_of(node.condition), statement_tree(node.positive), negative)
        case While(condition=condition, body=body):
            return tree.While(0, 0, tree_of(condition), statement_tree(body))
        case For():
            collection = tree_of(node.collection)
            return tree.For(0, 0, type_tree(node.type), _name(node.name), collection, statement_tree(node.body))
        case Break():
            return tree.Break(0, 0)
        case Continue():
            return tree.Continue(0, 0)
        case Return(value=value):
            return tree.Return(0, 0, None if value is None else tree_of(value))


def _name(text: str, namespace: str = "") -> tree.Name:
    return tree.Name(0, 0, namespace, text)


def _bound(bound: int) -> tree.Number:
    return tree.Number(0, 0, number_text(Primitive("int32"), bound))


def _cast(type_: Type, operand: tree.Expression) -> tree.Cast:
    return tree.Cast(0, 0, type_tree(type_), operand)


def _constant(node: Constant) -> tree.Expression:
    value, type_ = node.value, node.type
    if value is None:
        null = tree.Word(0, 0, "null")
        return _cast(type_, null) if isinstance(type_, Optional) else null
    if isinstance(value, bool):
        return tree.Word(0, 0, "true" if value else "false")
    if isinstance(value, str):
        if isinstance(type_, Enumeration):
            return _cast(type_, tree.Text(0, 0, value, "rstring"))
        return tree.Text(0, 0, value, str(type_))
    assert isinstance(type_, Primitive)
    text = number_text(type_, value)
    digits = tree.Number(0, 0, text.removeprefix("-"))
    return tree.Prefix(0, 0, "-", digits) if text.startswith("-") else digits


def _literal(node: ListOf | SetOf | MapOf | TupleOf) -> tree.Expression:
    match node:
        case ListOf(elements=elements):
            literal: tree.Expression = tree.ListLiteral(0, 0, tuple(map(tree_of, elements)))
            is_empty = not elements
        case SetOf(elements=elements):
            entries = tuple(tree.Entry(0, 0, tree_of(each), None) for each in elements)
            literal, is_empty = tree.BraceLiteral(0, 0, entries), not elements
        case MapOf(entries=pairs):
            entries = tuple(tree.Entry(0, 0, tree_of(key), tree_of(value)) for key, value in pairs)
            literal, is_empty = tree.BraceLiteral(0, 0, entries), not pairs
        case TupleOf(attributes=attributes):
            assigned = (tree.Binary(0, 0, "=", _name(name), tree_of(value)) for name, value in attributes)
            entries = tuple(tree.Entry(0, 0, each, None) for each in assigned)
            literal, is_empty = tree.BraceLiteral(0, 0, entries), not attributes
    is_bounded = isinstance(node.type, Collection) and node.type.bound is not None
    is_known = not _has_unknown(node.type)
    return _cast(node.type, literal) if (is_empty and is_known) or is_bounded else literal


def _has_unknown(type_: Type) -> bool:
    """Return True for the type of an empty literal whose element type is unknown."""
    return type_ in (UNKNOWN, EMPTY_BRACES) or (
        isinstance(type_, Collection) and any(map(_has_unknown, type_.elements))
    )


def _call(node: Call | OutputCall | Submit) -> tree.Expression:
    if isinstance(node, Submit):
        port = _name(node.label) if isinstance(node.port, int) else tree_of(node.port)
        return tree.Call(0, 0, _name("submit"), (tree_of(node.value), port))
    if isinstance(node, Call):
        signature = node.signature
        function = _name(signature.name, "" if signature.is_standard else signature.namespace)
    else:
        function = _name(node.name)
    return tree.Call(0, 0, function, tuple(map(tree_of, node.arguments)))


def _operation(node: Expression) -> tree.Expression:
    match node:
        case Member(operand=operand, name=name):
            return tree.Member(0, 0, tree_of(operand), _name(name))
        case Index(operand=operand, index=index):
            return tree.Index(0, 0, tree_of(operand), tree_of(index))
        case Slice():
            lower, upper = (None if each is None else tree_of(each) for each in (node.lower, node.upper))
            return tree.Slice(0, 0, tree_of(node.operand), lower, upper)
        case Prefix(operator=operator, operand=operand):
            return tree.Prefix(0, 0, operator, tree_of(operand))
        case Postfix(operator=operator, operand=operand):
            return tree.Postfix(0, 0, operator, tree_of(operand))
        case Cast(type=type_, operand=operand) | Convert(type=type_, operand=operand):
            return _cast(type_, tree_of(operand))
        case Binary():
            return tree.Binary(0, 0, node.operator, tree_of(node.left), tree_of(node.right))
        case Assign():
            return tree.Binary(0, 0, node.operator, tree_of(node.target), tree_of(node.value))
        case Choice():
            parts = (node.condition, node.positive, node.negative)
            return tree.Choice(0, 0, *map(tree_of, parts))
        case _:
            message = "an expression that is wrong has no canonical text"
            raise ValueError(message)
