"""Syntax trees of SPL, without types: types, expressions and statements.

Every node knows its first and its last token. Equality ignores them, so trees of equal meaning in different places are
equal. Parentheses are not part of a tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams_orchestration.spl.language.walking import TreeNode


@dataclass(frozen=True, slots=True)
class Node(TreeNode):
    """A node of a syntax tree.

    Attributes:
        first: the index of the node's first token.
        last: the index of the node's last token.
    """

    first: int = field(compare=False)
    last: int = field(compare=False)


def qualified(namespace: str, name: str) -> str:
    """Return a name with its namespace, which may be empty."""
    return f"{namespace}::{name}" if namespace else name


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier, with a dotted namespace or an empty one."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return qualified(self.namespace, self.name)


# --- types


@dataclass(frozen=True, slots=True)
class NamedType(Node):
    """A type that is given by its name; a non-empty `member` names a type inside the composite of that name."""

    name: Name
    member: str


@dataclass(frozen=True, slots=True)
class PrimitiveType(Node):
    """A type of one word; `bound` limits the bytes of an rstring, `schema` is the schema of an XML type."""

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
    """An entry in braces or of an annotation: a key with its value, or a single expression, which is then the key."""

    key: Expression
    value: Expression | None


@dataclass(frozen=True, slots=True)
class BraceLiteral(Node):
    """A literal in braces: a tuple, whose keys are assignments, or a map, or a set."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of a function."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Member(Node):
    """The access to an attribute of a tuple, or to a value of an enumeration."""

    operand: Expression
    name: Name


@dataclass(frozen=True, slots=True)
class Index(Node):
    """The access to one element of a collection or string."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """The access to a part of a list or string, up to and without `upper`; an omitted bound is None."""

    operand: Expression
    lower: Expression | None
    upper: Expression | None


@dataclass(frozen=True, slots=True)
class Prefix(Node):
    """An operation with the operator in front of its operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Postfix(Node):
    """An operation with `++`, `--`, `!` or `??` after its operand."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A cast. In `(x)-y`, where x is the name of a value, it is parsed by mistake; see `expression_at`."""

    type: Type
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """An operation with two operands, or an assignment."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """A conditional expression, `condition ? positive : negative`."""

    condition: Expression
    positive: Expression
    negative: Expression


Literal = Number | Text | Word | ListLiteral | BraceLiteral
Expression = Name | Literal | Call | Member | Index | Slice | Prefix | Postfix | Cast | Binary | Choice


# --- statements


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """A variable in a local declaration, with its initial value if it has one."""

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
    """A conditional statement, with the statement for the other case if there is one."""

    condition: Expression
    positive: Statement
    negative: Statement | None


@dataclass(frozen=True, slots=True)
class While(Node):
    """A `while` loop."""

    condition: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class For(Node):
    """A `for` loop over a collection."""

    type: Type
    name: Name
    collection: Expression
    body: Statement


@dataclass(frozen=True, slots=True)
class Break(Node):
    """The statement `break`, which ends a loop."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """The statement `continue`, which ends one iteration of a loop."""


@dataclass(frozen=True, slots=True)
class Return(Node):
    """The statement `return`, which ends a function, with the result if there is one."""

    value: Expression | None


@dataclass(frozen=True, slots=True)
class TypeDefinition(Node):
    """A definition of a type; a `static` type of a composite is visible outside of the composite."""

    static: bool
    name: Name
    type: Type


Statement = (
    LocalDeclaration | Block | ExpressionStatement | If | While | For | Break | Continue | Return | TypeDefinition
)
