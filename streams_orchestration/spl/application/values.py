"""Values of annotations, configs and windows, and references to submission-time values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from streams_orchestration.spl.functions.signatures import Signature, builtin
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.types.types import FLOATS, INTEGERS, Primitive
from streams_orchestration.spl.typing.checking import check_expression
from streams_orchestration.spl.typing.scopes import Actual, Scope
from streams_orchestration.spl.typing.spans import Mistake, Source
from streams_orchestration.spl.typing.typed import Call, Cast, Constant, Convert, Expression, ListOf

SUBMISSION = "getSubmissionTimeValue"
SUBMISSION_LIST = "getSubmissionTimeListValue"
CHANNELS = ("getAllChannels", "getAllMaxChannels")
"""Functions about the regions around a replica, whose values are constants of its programs."""
_TYPES = {"boolean": "boolean", "int64": "int64"}


class UnknownValue(Exception):  # noqa: N818  no error: the value is one that only a run knows
    """A value is not known at compile time."""


@dataclass(frozen=True, eq=False)
class ConstantReader:
    """A reader of compile-time values in one scope of one file."""

    source: Source
    scope: Scope
    mistakes: list[Mistake]

    def named(self, entries: tuple[tree.Entry, ...]) -> dict[str, tree.Expression]:
        """Map the keys of an annotation or a tuple literal to their expressions, the last of two with one key.

        Entries without a name as their key are left out.
        """
        found: dict[str, tree.Expression] = {}
        for entry in entries:
            match entry.key:
                case tree.Binary(operator="=", left=tree.Name(name=name), right=value):
                    found[name] = value
                case tree.Name(name=name) if entry.value is not None:
                    found[name] = entry.value
                case _:
                    pass
        return found

    def labels(self, entries: tuple[tree.Entry, ...]) -> dict[str, tree.Node]:
        """Map the keys of an annotation or a tuple literal to their name nodes, the last of two with one key."""
        found: dict[str, tree.Node] = {}
        for entry in entries:
            label = entry.key.left if isinstance(entry.key, tree.Binary) else entry.key
            if isinstance(label, tree.Name):
                found[label.name] = label
        return found

    def value(self, written: tree.Expression) -> Any:
        """Return the value of a constant, word, list or tuple, or `${name}` for a submission-time value.

        Raises:
            UnknownValue: the value is known only at run time, or the expression has a mistake, which is reported.
        """
        match written:
            case tree.ListLiteral(elements=elements):
                return [self.value(each) for each in elements]
            case tree.BraceLiteral(entries=entries):
                return {key: self.value(each) for key, each in self.named(entries).items()}
            case tree.Name(name=name) if name.startswith("$"):
                actual = self.scope.find(name)
                if isinstance(actual, Actual) and actual.mode in ("attribute", "expression"):
                    values = actual.values
                    if isinstance(values, tuple) and len(values) == 1:
                        return ConstantReader(actual.source, actual.scope, self.mistakes).value(values[0])
                return self.typed(written)
            case tree.Name() | tree.Member():
                return text_of(written)
            case _:
                return self.typed(written)

    def typed(self, written: tree.Expression) -> Any:
        """Type an expression and return its value; report mistakes in it.

        Raises:
            UnknownValue: the value is known only at run time, or the expression has a mistake.
        """
        before = len(self.mistakes)
        found = check_expression(written, self.scope, self.source, self.mistakes)
        if len(self.mistakes) > before:
            raise UnknownValue
        return constant(found)


def constant(expression: Expression) -> Any:
    """Return the value of a typed expression: a constant, a list of them, or `${name}` for a submission-time value.

    Raises:
        UnknownValue: the value is known only at run time.
    """
    match expression:
        case Constant(value=value, type=type_):
            if type_ in INTEGERS and value is not None:
                return int(str(value))
            if type_ in FLOATS and value is not None:
                return float(str(value))
            return value
        case ListOf(elements=elements):
            return [constant(each) for each in elements]
        case _:
            name = submission_name(expression)
            if name is None:
                raise UnknownValue
            return f"${{{name}}}"


def submission_name(expression: Expression) -> str | None:
    """Return the name of the submission-time value that an expression reads, perhaps with a cast; None for others."""
    while isinstance(expression, Cast | Convert):
        expression = expression.operand
    match expression:
        case Call(signature=Signature(name=name), arguments=(Constant(value=str(value)),)) if name == SUBMISSION:
            return value
        case _:
            return None


def submission_type(expression: Expression) -> str:
    """Return the document's type for a submission-time value, judged by the cast around its call; else `rstring`."""
    type_ = expression.type
    if not isinstance(type_, Primitive):
        return "rstring"
    if type_ in INTEGERS:
        return "int64" if type_.name in ("int64", "uint32", "uint64") else "int32"
    if type_ in FLOATS:
        return "float64"
    return _TYPES.get(type_.name, "rstring")


def submission_call(call: Call, name: str) -> Call:
    """Return a call of a submission-time value by its name in the document, which also holds the call's default."""
    [signature] = [each for each in builtin(call.signature.name) if len(each.parameters) == 1]
    named = replace(cast("Constant", call.arguments[0]), value=name)
    return Call(call.span, call.type, signature, (named,))
