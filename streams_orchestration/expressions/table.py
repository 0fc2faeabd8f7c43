"""Entries of the table of functions: signatures, documentation and implementation."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams_orchestration.expressions.coercion import common_of, is_implicit
from streams_orchestration.expressions.types import DOUBLE, VOID, Type, outer_parts, parse_type

TupleFunction = Callable[..., Any]
"""The implementation of a function, for the argument values of one tuple."""

_SIGNATURE = re.compile(r"(?P<name>[^\s(]+)\((?P<parameters>.*)\) -> (?P<result>.+)")
ANY_NUMBER = 1_000_000
"""The value of `FunctionSignature.most` for functions without a limit."""
_CLASS_NAMES = {
    "whole": "a whole number",
    "number": "a number",
    "datetime": "a date or timestamp",
    "ordered": "a value with an order",
    "any": "any value",
}
_CLASSES: dict[str, Callable[[Type], bool]] = {
    "number": lambda kind: kind.is_numeric,
    "whole": lambda kind: kind.is_integral,
    "datetime": lambda kind: kind.is_datetime,
    "ordered": lambda kind: kind.is_ordered,
    "any": lambda _kind: True,
}
"""Classes of types by their names in signatures. An argument keeps its type if the class has it."""


class Binding(NamedTuple):
    """The context that a function is bound to: types, constants and time zone of one call.

    Attributes:
        arguments: the types of the arguments.
        result: the type of the value.
        constants: for each argument, a one-tuple with its value if it is a literal, else None.
        zone: the time zone of the expression.
    """

    arguments: tuple[Type, ...]
    result: Type
    constants: tuple[tuple[Any] | None, ...]
    zone: dt.tzinfo


class Resolved(NamedTuple):
    """The types to which the arguments of a call are converted, and the type of its value.

    Surplus arguments are dropped.
    """

    arguments: tuple[Type, ...]
    result: Type


class Operand(NamedTuple):
    """An argument before its implicit conversion.

    Attributes:
        type: the type of its value.
        constant: a one-tuple with its value if it is constant, else None.
        literal: True for a literal, False for a computed constant.
        name: the name, if it is an attribute or a field; else empty.
    """

    type: Type
    constant: tuple[Any] | None = None
    literal: bool = False
    name: str = ""


Zoned = Callable[[Sequence[Type], Type], bool]
"""A predicate over the types of arguments and result: True if a function's value depends on the time zone."""
Resolver = Callable[[Sequence[Operand]], Resolved | None]
"""A function that finds the types of a call, or returns None if the arguments do not fit."""


def with_timestamps(arguments: Sequence[Type], result: Type) -> bool:
    """Return True if an argument or the result contains a timestamp, whose local time depends on the zone."""
    return result.holds("timestamp") or any(each.holds("timestamp") for each in arguments)


def from_text(arguments: Sequence[Type], result: Type) -> bool:
    """Return True if the first argument is a text, whose date or time may lack a zone."""
    del result
    return arguments[0].name == "string"


class FunctionParameter(NamedTuple):
    """A parameter of a signature; its type may be, or contain, a type variable such as `T`."""

    name: str
    type: str
    constant: bool = False
    """True if the argument must be constant; in a signature, the word `constant` precedes the type."""

    @classmethod
    def of(cls, text: str) -> FunctionParameter:
        """Parse a parameter: `length int` or `format constant string`."""
        name, kind = text.split(" ", 1)
        return cls(name, kind.removeprefix("constant "), kind.startswith("constant "))


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """A form in which a function can be called.

    Attributes:
        text: the signature as the documentation shows it.
        parameters: all parameters, the optional ones last.
        required: the number of required parameters.
        variadic: True if the last parameter may be repeated.
        result: the type of the value, which may contain type variables of the parameters.
    """

    text: str
    parameters: tuple[FunctionParameter, ...]
    required: int
    variadic: bool
    result: str

    @classmethod
    def of(cls, text: str) -> FunctionSignature:
        """Parse a signature: `left(text string, length int) -> string`.

        Brackets enclose an optional parameter; `...` follows the type of a repeated one. A type is a type of
        attributes, a name in `_CLASSES`, or a type variable: a capital letter. All arguments of the same variable are
        converted to one common type.
        """
        match = _SIGNATURE.fullmatch(text)
        assert match is not None, text
        written = outer_parts(match["parameters"]) if match["parameters"] else []
        parameters = [FunctionParameter.of(part.strip("[]").removesuffix("...")) for part in written]
        required = sum(not part.startswith("[") and not part.endswith("...") for part in written)
        repeated = bool(written) and written[-1].strip("]").endswith("...")
        return cls(text, tuple(parameters), required, repeated, match["result"])

    @property
    def most(self) -> int:
        """The most arguments that may be given, `ANY_NUMBER` without a limit."""
        return ANY_NUMBER if self.variadic else len(self.parameters)

    def takes(self, count: int) -> bool:
        """Return True if the function can be called with `count` arguments."""
        return self.required <= count <= self.most

    def parameter(self, place: int) -> FunctionParameter:
        """Return the parameter for the argument at a position; the last parameter for all further positions."""
        return self.parameters[min(place, len(self.parameters) - 1)]

    def accepts(self, place: int, operand: Operand, *, exact: bool = False) -> bool:
        """Return True if an argument fits the parameter at its position, regardless of the other arguments.

        With `exact`, it must fit without a conversion.
        """
        parameter = self.parameter(place)
        if parameter.constant and operand.constant is None:
            return False
        variables: dict[str, list[Type]] = {}
        if not _collect(parameter.type, operand.type, variables):
            return False
        bound = {name: kinds[0] for name, kinds in variables.items()}
        return not exact or operand.type in (_bound(parameter.type, operand.type, bound), VOID)

    def resolve(self, operands: Sequence[Operand]) -> Resolved | None:
        """Return the types of a call in this form, or None if the arguments do not fit it."""
        if not self.takes(len(operands)):
            return None
        if any(self.parameter(place).constant and each.constant is None for place, each in enumerate(operands)):
            return None
        last = len(self.parameters) - 1
        declared = [self.parameters[min(position, last)].type for position in range(len(operands))]
        variables: dict[str, list[Type]] = {}
        for text, operand in zip(declared, operands, strict=True):
            if not _collect(text, operand.type, variables):
                return None
        bound: dict[str, Type] = {}
        for name, kinds in variables.items():
            together = common_of(kinds)
            if together is None:
                return None
            bound[name] = together
        arguments = tuple(_bound(text, each.type, bound) for text, each in zip(declared, operands, strict=True))
        if not all(is_implicit(each.type, kind) for each, kind in zip(operands, arguments, strict=True)):
            return None
        return Resolved(arguments, _bound(self.result, arguments[0] if arguments else VOID, bound))


def _collect(text: str, kind: Type, variables: dict[str, list[Type]]) -> bool:
    """Collect the types that an argument binds to type variables; return False if it does not fit its declared type."""
    if len(text) == 1:
        variables.setdefault(text, []).append(kind)
        return True
    if text in _CLASSES:
        return (
            kind == VOID or _CLASSES[text](kind) or (text in ("number", "whole", "datetime") and kind.name == "string")
        )
    if "<" in text and any(len(part) == 1 for part in re.findall(r"\w+", text)):
        if kind == VOID:
            return True
        name, inner = text[:-1].split("<", 1)
        parts = outer_parts(inner)
        return kind.name == name and all(map(_collect, parts, kind.parts, [variables] * len(parts)))
    return is_implicit(kind, parse_type(text))


def _bound(text: str, kind: Type, variables: dict[str, Type]) -> Type:
    """Return a declared type with variables substituted.

    For a class of types (`_CLASSES`), return the argument's own type. But a string becomes bigint, double or timestamp
    if the class needs that, and void becomes double as a number.
    """
    if text in _CLASSES:
        if kind.name == "string":
            return {"whole": parse_type("bigint"), "number": DOUBLE, "datetime": parse_type("timestamp")}.get(
                text, kind
            )
        return DOUBLE if kind == VOID and text == "number" else kind
    if len(text) == 1:
        return variables.get(text, VOID)
    if "<" in text and any(len(part) == 1 for part in re.findall(r"\w+", text)):
        name, inner = text[:-1].split("<", 1)
        parts = outer_parts(inner)
        return Type(name, parts=tuple(_bound(part, VOID, variables) for part in parts))
    return parse_type(text)


def misfit(function: SqlFunction, operands: Sequence[Operand]) -> tuple[str, int]:
    """Return why arguments fit no signature, and the position of the wrong argument; -1 if no single one is wrong."""
    name, forms = function.name, function.signatures
    fitting = [each for each in forms if each.takes(len(operands))]
    shown = " or ".join(each.text for each in forms)
    if not fitting:
        least = min(each.required for each in forms)
        most = max(each.most for each in forms)
        counts = f"{least}" if least == most else f"at least {least}" if most == ANY_NUMBER else f"{least} to {most}"
        noun = "argument" if counts == "1" else "arguments"
        given = f"{len(operands)} {'is' if len(operands) == 1 else 'are'} given"
        return f"{name} takes {counts} {noun}, {given}; it is called as {shown}", -1
    for place, operand in enumerate(operands):
        left = [each for each in fitting if each.accepts(place, operand, exact=function.exact)]
        if not left:
            kinds = dict.fromkeys(each.parameter(place).type for each in fitting)
            wanted = " or ".join(_CLASS_NAMES.get(kind, kind) for kind in kinds)
            constant = "constant " if operand.constant is None and fitting[0].parameter(place).constant else ""
            what = f"{name}: {fitting[0].parameter(place).name} is {operand.type}, but {constant}{wanted} is expected"
            return f"{what}; it is called as {shown}", place
        fitting = left
    kinds = ", ".join(str(each.type) for each in operands)
    return f"{name}({kinds}) is not possible; it is called as {shown}", -1


def _is_exact(resolved: Resolved, operands: Sequence[Operand]) -> bool:
    """Return True if every argument has the type of its parameter, or is NULL."""
    pairs = zip(resolved.arguments, operands, strict=True)
    return all(operand.type in (kind, VOID) for kind, operand in pairs)


def _kept(resolved: Resolved, operands: Sequence[Operand]) -> int:
    """Return the number of arguments that a call takes without conversion."""
    return sum(kind == operand.type for kind, operand in zip(resolved.arguments, operands, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class SqlFunction:
    """A function or an operator.

    Attributes:
        name: the name in lower case, or the sign of an operator.
        group: the heading in the documentation.
        summary: the description in the documentation.
        examples: expressions with their values as Spark writes them.
        bind: the function that returns the implementation for given types.
        signatures: the forms of a call; empty if the function has a resolver of its own.
        resolver: typing rules that signatures cannot express, else None.
        strict: True if the value is null whenever an argument is null.
        fails: True if the function may fail for some arguments.
        lenient: True if a failure becomes null, except for a PatternError.
        exact: True if arguments are not converted (Spark's `ExpectsInputTypes`).
        zoned: a predicate that is True if the value depends on the time zone.
    """

    name: str
    group: str
    summary: str
    examples: tuple[tuple[str, str], ...]
    bind: Callable[[Binding], TupleFunction]
    signatures: tuple[FunctionSignature, ...] = ()
    resolver: Resolver | None = None
    strict: bool = True
    fails: bool = False
    lenient: bool = False
    exact: bool = False
    zoned: Zoned | None = None

    def resolve(self, operands: Sequence[Operand]) -> Resolved | None:
        """Return the types of a call, by the form that converts the fewest arguments; None if no form fits them.

        Among equal forms the first one counts. A resolver decides alone, and may raise MisfitError.
        """
        if self.resolver is not None:
            return self.resolver(operands)
        forms = (form.resolve(operands) for form in self.signatures)
        resolved = [each for each in forms if each is not None and (not self.exact or _is_exact(each, operands))]
        return max(resolved, key=lambda each: _kept(each, operands), default=None)


class Form(NamedTuple):
    """A lazy function. It is documented like a `SqlFunction`, but `typing` resolves it instead of the table."""

    name: str
    signatures: tuple[FunctionSignature, ...]
    summary: str
    examples: tuple[tuple[str, str], ...]


@dataclass
class FunctionGroup:
    """The functions of one heading, in the order of the documentation."""

    heading: str
    functions: list[SqlFunction] = field(default_factory=list[SqlFunction])

    def function(self, *signatures: str, **entry: Any) -> Callable[[TupleFunction], TupleFunction]:
        """Return a decorator that enters a function whose implementation does not depend on types.

        The arguments are as in `bound`.
        """

        def enter(row: TupleFunction) -> TupleFunction:
            self.bound(*signatures, **entry)(lambda _binding: row)
            return row

        return enter

    def bound(
        self,
        *signatures: str,
        summary: str,
        examples: Sequence[tuple[str, str]],
        name: str = "",
        aliases: Sequence[str] = (),
        **properties: Any,
    ) -> Callable[[Callable[[Binding], TupleFunction]], Callable[[Binding], TupleFunction]]:
        """Return a decorator that enters a function whose implementation depends on types or constant arguments.

        Without `name`, the name is the one in the first signature. An alias has the same signatures and examples, with
        its own name. The attributes of `SqlFunction` describe the other arguments; the decorated function is `bind`.
        """

        def enter(bind: Callable[[Binding], TupleFunction]) -> Callable[[Binding], TupleFunction]:
            own = name or signatures[0].partition("(")[0]
            for each in (own, *aliases):
                forms = [text.replace(f"{own}(", f"{each}(", 1) for text in signatures]
                shown = tuple((text.replace(f"{own}(", f"{each}(", 1), value) for text, value in examples)
                signed = tuple(map(FunctionSignature.of, forms))
                self.functions.append(SqlFunction(each, self.heading, summary, shown, bind, signed, **properties))
            return bind

        return enter
