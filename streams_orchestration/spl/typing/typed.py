"""Typed trees of expressions and statements: every name has its meaning, every expression its type.

Equality ignores places. There are no implicit conversions: each is a `Convert` node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.language.tokens import Tokens, tokenize
from streams_orchestration.spl.types.types import Type


@dataclass(frozen=True, eq=False)
class Source:
    """A text with its tokens: `file` is its name in errors, `line` and `column` the place of its first character."""

    file: str
    tokens: Tokens
    line: int = 1
    column: int = 1

    @classmethod
    def of(cls, text: str, file: str = "", line: int = 1, column: int = 1) -> Source:
        """Return the source of a text that is not a whole file, such as canonical text."""
        return cls(file, tokenize(text), line, column)

    def place(self, index: int) -> tuple[int, int]:
        """Return line and column of a token, from 1."""
        line, column = self.tokens.place(index)
        return line + self.line - 1, column + self.column - 1 if line == 1 else column


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a source, from its first to its last token."""

    source: Source
    first: int
    last: int

    @property
    def line(self) -> int:
        """The line of the first token, from 1."""
        return self.source.place(self.first)[0]

    @property
    def column(self) -> int:
        """The column of the first token, from 1."""
        return self.source.place(self.first)[1]

    @property
    def text(self) -> str:
        """The source text of the span."""
        tokens = self.source.tokens
        end = tokens.offsets[self.last] + len(tokens.texts[self.last])
        return " ".join(tokens.text[tokens.offsets[self.first] : end].split())

    def __str__(self) -> str:
        line, column = self.source.place(self.first)
        return f"{self.source.file}:{line}:{column}"


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error or a warning in a program; `within` names the invocation of the composite whose body has it."""

    code: str
    message: str
    span: Span
    within: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a typed program."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Typed(Node):
    """An expression with its type."""

    type: Type


# --- values


@dataclass(frozen=True, slots=True)
class Constant(Typed):
    """A value that is known: of a number, boolean, string (bytes are text), enum (its word), or None for null."""

    value: bool | int | float | Decimal | str | None

    def __eq__(self, other: object) -> bool:
        """Compare by type and bits: 0.0 is not -0.0, nan is nan."""
        if not isinstance(other, Constant):
            return NotImplemented
        return (self.type, repr(self.value)) == (other.type, repr(other.value))

    def __hash__(self) -> int:
        return hash((self.type, repr(self.value)))


@dataclass(frozen=True, slots=True)
class PortAttribute(Typed):
    """An attribute of the tuple of an input port."""

    port: str
    name: str


@dataclass(frozen=True, slots=True)
class PortTuple(Typed):
    """The tuple of an input port, or, as an argument of `submit`, an output port."""

    port: str


@dataclass(frozen=True, slots=True)
class Variable(Typed):
    """A variable; `kind` is `state`, `local`, `parameter` or `loop`."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class ListOf(Typed):
    """A list of its elements."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SetOf(Typed):
    """A set of its elements."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Typed):
    """A map of its entries."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class TupleOf(Typed):
    """A tuple of its attributes, in the order of its type."""

    attributes: tuple[tuple[str, Expression], ...]


# --- operations


@dataclass(frozen=True, slots=True)
class Member(Typed):
    """An attribute of a tuple that is no port's."""

    operand: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Index(Typed):
    """An element of a list, string or blob, or the value of a map's key."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Slice(Typed):
    """A part of a list, string or blob; a bound that is not written is None."""

    operand: Expression
    lower: Expression | None
    upper: Expression | None


@dataclass(frozen=True, slots=True)
class Prefix(Typed):
    """One of `! - ~ ++ --` in front of its operand; the last two assign."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Postfix(Typed):
    """A postfix operator: `++` and `--` assign, `!` gives an optional's value, `??` tells if it has one."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Cast(Typed):
    """A cast that is written."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Convert(Typed):
    """A conversion that the program does not write: of a value to an optional, or of the elements of a literal."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Typed):
    """Two operands; where one is a scalar and the other a list, the operator maps over the list."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Assign(Typed):
    """An assignment; the operator is `=` or one like `+=`."""

    operator: str
    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Choice(Typed):
    """The value of `condition ? positive : negative`."""

    condition: Expression
    positive: Expression
    negative: Expression


@dataclass(frozen=True, slots=True)
class Call(Typed):
    """A call of a function; `signature` is as declared, without the types of this call."""

    signature: Signature
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Submit(Typed):
    """A tuple or a marker that is submitted; `port` is an output port's number, or an expression of type uint32.

    Attributes:
        label: the name of the output port, or an empty text.
    """

    value: Expression
    port: int | Expression
    label: str


@dataclass(frozen=True, slots=True)
class OutputCall(Typed):
    """A call of an output function, which is a function that one operator has for its output, such as `Max(n)`."""

    name: str
    arguments: tuple[Expression, ...]


Expression = (
    Constant
    | PortAttribute
    | PortTuple
    | Variable
    | ListOf
    | SetOf
    | MapOf
    | TupleOf
    | Member
    | Index
    | Slice
    | Prefix
    | Postfix
    | Cast
    | Convert
    | Binary
    | Assign
    | Choice
    | Call
    | Submit
    | OutputCall
    | Typed
)
"""An expression. A node of the class `Typed` itself is an expression with a mistake; its type is `UNKNOWN`."""


# --- statements


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """A variable; without an initialiser it has the default of its type."""

    name: str
    type: Type
    mutable: bool
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Block(Node):
    """Statements with variables of their own."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
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
    """A loop over the elements of a list or set, the keys of a map, the characters of a string."""

    name: str
    type: Type
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


Statement = Declare | Block | Evaluate | If | While | For | Break | Continue | Return


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function with its body; `names` are the names of its parameters."""

    signature: Signature
    names: tuple[str, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """The logic of an invocation.

    Attributes:
        state: the variables that live as long as the operator.
        on_tuple: the statements for the tuples of input ports, by port number.
        on_mark: the statements for their punctuation marks.
        process: the statement of `onProcess`.
    """

    state: tuple[Declare, ...]
    on_tuple: tuple[tuple[int, Statement], ...]
    on_mark: tuple[tuple[int, Statement], ...]
    process: Statement | None
