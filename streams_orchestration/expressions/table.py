"""The table of functions: signatures, documentation and meaning of each, as data."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streams_orchestration.expressions.coercion import common_of, is_implicit
from streams_orchestration.expressions.types import DOUBLE, VOID, Type, outer_parts, parse_type

Row = Callable[..., Any]
"""A function's meaning for the values of one tuple."""

_SIGNATURE = re.compile(r"(?P<name>[^\s(]+)\((?P<parameters>.*)\) -> (?P<result>.+)")
ANY_NUMBER = 1_000_000
"""Stands for any number of arguments."""
_CLASS_NAMES = {"whole": "a whole number", "number": "a number", "datetime": "a date or timestamp", "ordered":
                "a value with an order", "any": "any value"}  # fmt: skip
_CLASSES: dict[str, Callable[[Type], bool]] = {
    "number": lambda kind: kind.is_numeric,
    "whole": lambda kind: kind.is_integral,
    "datetime": lambda kind: kind.is_datetime,
    "ordered": lambda kind: kind.is_ordered,
    "any": lambda _kind: True,
}
"""Names of several types, as signatures write them. An argument of one keeps its type."""


class Binding(NamedTuple):
    """The context that a function is bound to: types, constants and time zone of one call.

    Attributes:
        arguments: the types of its arguments.
        result: the type of its value.
        constants: the value of each argument that is a literal, in a tuple of one; None for the others.
        zone: the time zone of the expression.
    """

    arguments: tuple[Type, ...]
    result: Type
    constants: tuple[tuple[Any] | None, ...]
    zone: dt.tzinfo


class Resolved(NamedTuple):
    """The types that the arguments are converted to, and the type of the value; arguments behind these are dropped."""

    arguments: tuple[Type, ...]
    result: Type


class Operand(NamedTuple):
    """An argument as it is written.

    Attributes:
        type: of its value.
        constant: its value in a tuple of one if it is constant.
        literal: it is a literal, and no constant that was calculated.
        name: of the attribute or field that it is; empty for anything else.
    """

    type: Type
    constant: tuple[Any] | None = None
    literal: bool = False
    name: str = ""


Zoned = Callable[[Sequence[Type], Type], bool]
"""Returns True if the value of a function depends on the time zone, by the types of its arguments and its result."""
Resolver = Callable[[Sequence[Operand]], Resolved | None]
"""Finds the types of a call; None if the arguments do not fit."""


def with_timestamps(arguments: Sequence[Type], result: Type) -> bool:
    """Return True if an argument or the result is a timestamp or holds some, whose clock is that of the zone."""
    return result.holds("timestamp") or any(each.holds("timestamp") for each in arguments)


def from_text(arguments: Sequence[Type], result: Type) -> bool:
    """Return True if a text is read as a time; it may name no zone."""
    del result
    return arguments[0].name == "string"


class Parameter(NamedTuple):
    """A parameter of a signature; its type may be a variable such as `T`, alone or as part."""

    name: str
    type: str
    constant: bool = False
    """Only a constant may be given; a signature says so by the word before the type."""

    @classmethod
    def of(cls, text: str) -> Parameter:
        """Read `length int` or `format constant string`."""
        name, kind = text.split(" ", 1)
        return cls(name, kind.removeprefix("constant "), kind.startswith("constant "))


@dataclass(frozen=True, slots=True)
class Signature:
    """A form in which a function is called.

    Attributes:
        text: as the documentation shows it.
        parameters: all of them, the optional ones last.
        required: how many must be given.
        variadic: the last parameter may be given any number of times.
        result: the type of the value; it may hold variables of the parameters.
    """

    text: str
    parameters: tuple[Parameter, ...]
    required: int
    variadic: bool
    result: str

    @classmethod
    def of(cls, text: str) -> Signature:
        """Read `left(text string, length int) -> string`.

        An optional parameter stands in brackets, and `...` follows the type of one that may be repeated. Types are
        those of attributes, the names in `_CLASSES`, and single capital letters, which stand for one type that all
        arguments of that letter are converted to.
        """
        match = _SIGNATURE.fullmatch(text)
        assert match is not None, text
        written = outer_parts(match["parameters"]) if match["parameters"] else []
        parameters = [Parameter.of(part.strip("[]").removesuffix("...")) for part in written]
        required = sum(not part.startswith("[") and not part.endswith("...") for part in written)
        repeated = bool(written) and written[-1].strip("]").endswith("...")
        return cls(text, tuple(parameters), required, repeated, match["result"])

    @property
    def most(self) -> int:
        """The most arguments that may be given, `ANY_NUMBER` without a limit."""
        return ANY_NUMBER if self.variadic else len(self.parameters)

    def takes(self, count: int) -> bool:
        """Return True if so many arguments may be given."""
        return self.required <= count <= self.most

    def parameter(self, place: int) -> Parameter:
        """Return the parameter of an argument."""
        return self.parameters[min(place, len(self.parameters) - 1)]

    def accepts(self, place: int, operand: Operand, *, exact: bool = False) -> bool:
        """Return True if an argument may stand at its place, whatever the others are."""
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
    """Gather what an argument says of the variables in its declared type; False if it cannot be of that type."""
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
    """Return a declared type with its variables in place; one of a class is the argument's own."""
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


def misfit(function: Function, operands: Sequence[Operand]) -> tuple[str, int]:
    """Return why arguments fit no form of a function, and the number of the argument at fault, -1 for their count."""
    name, forms = function.name, function.signatures
    fitting = [each for each in forms if each.takes(len(operands))]
    shown = " or ".join(each.text for each in forms)
    if not fitting:
        least, most = min(each.required for each in forms), max(each.most for each in forms)
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
            what = f"{name}: {fitting[0].parameter(place).name} is {operand.type}, {constant}{wanted} is wanted"
            return f"{what}; it is called as {shown}", place
        fitting = left
    kinds = ", ".join(str(each.type) for each in operands)
    return f"{name}({kinds}) is not possible; it is called as {shown}", -1


def _is_exact(resolved: Resolved, operands: Sequence[Operand]) -> bool:
    """Return True if no argument but NULL needs a conversion."""
    pairs = zip(resolved.arguments, operands, strict=True)
    return all(operand.type in (kind, VOID) for kind, operand in pairs)


def _kept(resolved: Resolved, operands: Sequence[Operand]) -> int:
    """Return how many arguments need no conversion."""
    return sum(kind == operand.type for kind, operand in zip(resolved.arguments, operands, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or an operator.

    Attributes:
        name: in lower case, or the sign of an operator.
        group: the heading in the documentation.
        summary: one sentence for the documentation.
        examples: expressions with their values as Spark writes them.
        bind: returns the meaning for given types.
        signatures: the forms of a call; none for an operator with rules of its own.
        resolver: these rules; None if the signatures say all.
        strict: the value is null if an argument is.
        fails: there may be no value for some arguments.
        lenient: a failure is null.
        exact: arguments are of the declared types, or NULL; nothing is converted (Spark's `ExpectsInputTypes`).
        zoned: returns True if the value depends on the time zone for given types of the arguments and the result.
    """

    name: str
    group: str
    summary: str
    examples: tuple[tuple[str, str], ...]
    bind: Callable[[Binding], Row]
    signatures: tuple[Signature, ...] = ()
    resolver: Resolver | None = None
    strict: bool = True
    fails: bool = False
    lenient: bool = False
    exact: bool = False
    zoned: Zoned | None = None

    def resolve(self, operands: Sequence[Operand]) -> Resolved | None:
        """Return the types of a call, or None if no form fits its arguments."""
        if self.resolver is not None:
            return self.resolver(operands)
        forms = (form.resolve(operands) for form in self.signatures)
        resolved = [each for each in forms if each is not None and (not self.exact or _is_exact(each, operands))]
        return max(resolved, key=lambda each: _kept(each, operands), default=None)


class Form(NamedTuple):
    """A function that is no entry of the table, since it does not evaluate all its arguments; as `Function`."""

    name: str
    signatures: tuple[Signature, ...]
    summary: str
    examples: tuple[tuple[str, str], ...]


@dataclass
class Group:
    """The functions of one heading, in the order of the documentation."""

    heading: str
    functions: list[Function] = field(default_factory=list[Function])

    def function(
        self,
        *signatures: str,
        summary: str,
        examples: Sequence[tuple[str, str]],
        resolver: Resolver | None = None,
        name: str = "",
        **properties: bool,
    ) -> Callable[[Row], Row]:
        """Return a decorator that enters a function whose meaning needs no types."""

        def enter(row: Row) -> Row:
            self._enter(signatures, name, summary, examples, lambda _binding: row, resolver, properties)
            return row

        return enter

    def bound(
        self,
        *signatures: str,
        summary: str,
        examples: Sequence[tuple[str, str]],
        resolver: Resolver | None = None,
        name: str = "",
        zoned: Zoned | None = None,
        **properties: bool,
    ) -> Callable[[Callable[[Binding], Row]], Callable[[Binding], Row]]:
        """Return a decorator that enters a function whose meaning depends on its types or constant arguments."""

        def enter(bind: Callable[[Binding], Row]) -> Callable[[Binding], Row]:
            self._enter(signatures, name, summary, examples, bind, resolver, properties, zoned)
            return bind

        return enter

    def _enter(
        self,
        signatures: Sequence[str],
        name: str,
        summary: str,
        examples: Sequence[tuple[str, str]],
        bind: Callable[[Binding], Row],
        resolver: Resolver | None,
        properties: dict[str, bool],
        zoned: Zoned | None = None,
    ) -> None:
        forms = tuple(map(Signature.of, signatures))
        name = name or forms[0].text.partition("(")[0]
        self.functions.append(
            Function(name, self.heading, summary, tuple(examples), bind, forms, resolver, zoned=zoned, **properties)
        )
