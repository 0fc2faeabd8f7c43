"""Typed trees of expressions and statements: names are resolved, and every expression has a type.

Equality ignores places. Implicit conversions are explicit `Convert` nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.language.walking import TreeNode
from streams_orchestration.spl.types.types import Type
from streams_orchestration.spl.typing.spans import Span


@dataclass(frozen=True, slots=True)
class Node(TreeNode):
    """A part of a typed program."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Typed(Node):
    """An expression with its type."""

    type: Type


# --- values


@dataclass(frozen=True, slots=True)
class Constant(Typed):
    """A known value: of a number, a boolean, a string or blob, or an enumeration (a word); None for null."""

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
    """The tuple of an input port; as an argument of `submit`, an output port."""

    port: str


@dataclass(frozen=True, slots=True)
class Variable(Typed):
    """A variable; `kind` is `state`, `local`, `parameter` or `loop`."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class ListOf(Typed):
    """A list literal with its elements."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class SetOf(Typed):
    """A set literal with its elements."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Typed):
    """A map literal with its entries."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class TupleOf(Typed):
    """A tuple literal with its values, in the order of the type's attributes; without values, the type's default."""

    attributes: tuple[tuple[str, Expression], ...]


# --- operations


@dataclass(frozen=True, slots=True)
class Member(Typed):
    """The access to an attribute of a tuple; attributes of input ports have their own node, `PortAttribute`."""

    operand: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Index(Typed):
    """The access to an element of a list, string or blob, or to the value for a key of a map."""

    operand: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Slice(Typed):
    """The access to a part of a list, string or blob, up to and without `upper`; an omitted bound is None."""

    operand: Expression
    lower: Expression | None
    upper: Expression | None


@dataclass(frozen=True, slots=True)
class Prefix(Typed):
    """An operation with `!`, `-`, `~`, `++` or `--` in front of its operand; the last two assign."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Postfix(Typed):
    """An operation after its operand: `++` and `--` assign, `!` unwraps an optional, `??` checks if it has a value."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Cast(Typed):
    """A cast in the program."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Convert(Typed):
    """An implicit conversion: of a value to an optional, or of an element of a literal."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Typed):
    """An operation with two operands; if one is a scalar and the other a list, it applies to each element."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Assign(Typed):
    """An assignment; the operator is `=`, or a combined one such as `+=`."""

    operator: str
    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Choice(Typed):
    """A conditional expression, `condition ? positive : negative`."""

    condition: Expression
    positive: Expression
    negative: Expression


@dataclass(frozen=True, slots=True)
class Call(Typed):
    """A call of a function; `signature` is the declared one, not specialised to this call."""

    signature: Signature
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Submit(Typed):
    """A submission of a tuple or a marker; `port` is the number of the output port, or an expression of type uint32.

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
    """A declaration of a variable; without an initial value, the variable has the default of its type."""

    name: str
    type: Type
    mutable: bool
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Block(Node):
    """A sequence of statements with variables of their own."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """A statement that evaluates an expression for its effects."""

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
    """A `for` loop over elements of a list or set, keys of a map, bytes of a blob or rstring, or characters."""

    name: str
    type: Type
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


Statement = Declare | Block | Evaluate | If | While | For | Break | Continue | Return


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function with its typed body; `names` are the names of its parameters."""

    signature: Signature
    names: tuple[str, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """The typed logic of an invocation.

    Attributes:
        state: the declarations of the state variables, which live as long as the operator.
        on_tuple: the statements for the tuples of input ports, by port number.
        on_mark: the statements for the punctuation marks of input ports, by port number.
        process: the statement of `onProcess`.
    """

    state: tuple[Declare, ...]
    on_tuple: tuple[tuple[int, Statement], ...]
    on_mark: tuple[tuple[int, Statement], ...]
    process: Statement | None
