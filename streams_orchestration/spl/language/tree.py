"""Syntax trees of SPL, without types: types, expressions and statements.

Every node knows its first and its last token. Equality ignores them, so two trees are equal if they mean the same text.
Parentheses are not part of a tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a program.

    Attributes:
        first: the index of its first token.
        last: the index of its last token.
    """

    first: int = field(compare=False)
    last: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier, with a dotted namespace or an empty one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}::{self.name}" if self.namespace else self.name


# --- types


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    """A type by its name; `member` is a type of that composite, or empty."""

    name: Name
    member: str


@dataclass(frozen=True, slots=True)
class PrimitiveType(Node):
    """A type of one word; `bound` limits the bytes of an rstring, `schema` is that of an XML type."""

    name: str
    bound: Expression | None
    schema: str | None


@dataclass(frozen=True, slots=True)
class EnumType(Node):
    """An enumeration."""

    words: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class AttributeDeclaration(Node):
    """An attribute of a tuple type."""

    type: Type
    name: Name


@dataclass(frozen=True, slots=True)
class TupleType(Node):
    """A tuple type: its attributes, or the types whose attributes it combines."""

    attributes: tuple[AttributeDeclaration, ...]
    bases: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class CollectionType(Node):
    """A `list`, `set` or `map`, with the types of its elements; `bound` limits their number."""

    kind: str
    elements: tuple[Type, ...]
    bound: Expression | None


@dataclass(frozen=True, slots=True)
class OptionalType(Node):
    """A type whose values may be null."""

    content: Type


Type = NamedType | PrimitiveType | EnumType | TupleType | CollectionType | OptionalType


# --- expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal of a number, unchanged as in the source."""

    text: str


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A literal of a string; `kind` is `rstring`, `ustring` or `xml`."""

    value: str
    kind: str


@dataclass(frozen=True, slots=True)
class Word(Node):
    """The literal `true`, `false` or `null`."""

    text: str


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    """A list in brackets."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Entry(Node):
    """An element in braces or of an annotation: a value, or a key and its value."""

    key: Expression
    value: Expression | None


@dataclass(frozen=True, slots=True)
class BraceLiteral(Node):
    """A tuple (each key is an assignment), a map, or a set."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a function."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Member(Node):
    """An attribute of a tuple, or a value of an enumeration."""

    operand: Expression
    name: Name


@dataclass(frozen=True, slots=True)
class Index(Node):
    """An element of a collection or a string."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """A part of a list or string; a bound that is not written is None."""

    operand: Expression
    lower: Expression | None
    upper: Expression | None


@dataclass(frozen=True, slots=True)
class Prefix(Node):
    """An operator in front of its operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Postfix(Node):
    """One of `++`, `--`, `!` and `??` after its operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A conversion; in `(x)-y` with the name of a value for x it is none, see `expression_at`."""

    type: Type
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """A binary operation; assignments are among the operators."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """The value of `condition ? positive : negative`."""

    condition: Expression
    positive: Expression
    negative: Expression


Literal = Number | Text | Word | ListLiteral | BraceLiteral
Expression = Name | Literal | Call | Member | Index | Slice | Prefix | Postfix | Cast | Binary | Choice


# --- statements


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """A name that a local declaration declares, with its initialiser."""

    name: Name
    value: Expression | None


@dataclass(frozen=True, slots=True)
class LocalDeclaration(Node):
    """The declaration of variables of one type."""

    mutable: bool
    type: Type
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Block(Node):
    """Statements in braces."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class ExpressionStatement(Node):
    """An expression that is evaluated for its effects."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class If(Node):
    """A statement under a condition, and the one that runs otherwise."""

    condition: Expression
    positive: Statement
    negative: Statement | None


@dataclass(frozen=True, slots=True)
class While(Node):
    """A loop under a condition."""

    condition: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class For(Node):
    """A loop over a collection."""

    type: Type
    name: Name
    collection: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class Break(Node):
    """The end of a loop."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """The end of one round of a loop."""


@dataclass(frozen=True, slots=True)
class Return(Node):
    """The end of a function, with its value."""

    value: Expression | None


@dataclass(frozen=True, slots=True)
class TypeDefinition(Node):
    """A definition of a type's name; `static` makes a type of a composite known outside of it."""

    static: bool
    name: Name
    type: Type


Statement = (
    LocalDeclaration | Block | ExpressionStatement | If | While | For | Break | Continue | Return | TypeDefinition
)
