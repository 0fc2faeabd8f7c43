"""The output functions of Aggregate about a pane of event time itself, not about its tuples (EV37, EV63)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.operators.errors.errors import FaultyExpressionError
from streams_orchestration.operators.expressions.spl.text import SplText, call_of
from streams_orchestration.operators.loading.libraries import pa


@dataclass(frozen=True, slots=True)
class PaneFunction:
    """The documentation of one of the output functions about a pane, which have no arguments."""

    name: str
    gives: Literal["time", "string", "bigint", "boolean"]
    """The type of the result; a time has the type of the event-time attribute."""
    summary: str

    def result_type(self, time: pa.DataType | None, wanted: pa.DataType | None = None) -> pa.DataType | None:
        """Return the type of the result; None for a time if the type of the event-time attribute is unknown.

        Args:
            time: the type of the event-time attribute, which a function that returns a time has.
            wanted: the type of the attribute that gets the result, if known. As in SPL, it may be a timestamp_ns for a
                time, and an unsigned integer for an index.
        """
        if time is not None and self.gives == "time" and wanted == pa.timestamp("ns", "UTC"):
            return wanted
        if self.gives == "bigint" and wanted == pa.uint64():
            return wanted
        types = {"time": time, "string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}
        return types[self.gives]


PANE_FUNCTIONS: dict[str, PaneFunction] = {
    each.name: each
    for each in (
        PaneFunction("intervalStart", "time", "Return the first tick of the pane."),
        PaneFunction("intervalEnd", "time", "Return the first tick after the pane."),
        PaneFunction(
            "paneTime", "time", "Return the last tick of the pane. A result with this time is not late downstream."
        ),
        PaneFunction("paneTiming", "string", "Return paneEarly, paneOnComplete or paneLate, the time of the firing."),
        PaneFunction("paneIndex", "bigint", "Return how often the partition has fired in the pane before."),
        PaneFunction("isRetraction", "boolean", "Return true if the tuple takes back an earlier one."),
    )
}
"""The functions by name, in the order of the documentation."""


def parse_pane_function(text: str, parameter: str) -> PaneFunction | None:
    """Return the pane function that a text calls; None for any other text.

    Raises:
        FaultyExpressionError: the call has arguments.
    """
    try:
        call = call_of(text)
    except ExpressionError:
        return None
    function = None if call is None else PANE_FUNCTIONS.get(call.name)
    if call is not None and function is not None and call.arguments:
        message = f"{parameter}: {function.name}() takes no argument"
        raise FaultyExpressionError(message, parameter, text, call.arguments[0].offset)
    return function


_IN_SPL = {
    "intervalStart": "timestamp",
    "intervalEnd": "timestamp",
    "paneTiming": "enum{paneEarly, paneOnComplete, paneLate}",
    "paneIndex": "uint64",
}
"""The pane functions that are functions of SPL, with their types in SPL."""
_MARK = "OfPane__"


class PaneExpression(NamedTuple):
    """An expression of SPL that calls pane functions, such as `ctime(intervalStart())`."""

    text: SplText
    """The expression over columns with the values of the functions."""
    functions: dict[str, PaneFunction]
    """The functions by their columns."""

    @property
    def schema(self) -> pa.Schema:
        """The columns with the values of the functions."""
        return pa.schema([(name, column_type(name)) for name in self.functions])


def pane_expression(text: str) -> PaneExpression | None:
    """Return the expression of SPL that calls pane functions; None for other texts.

    Such an expression is the argument of `Last`, since SPL takes that function where none is written.

    >>> pane_expression(SplText("Last(ctime(intervalStart()))")).text.text
    'ctime(intervalStartOfPane__)'

    Raises:
        ExpressionError: the text is not an expression.
    """
    if not isinstance(text, SplText):
        return None
    call = call_of(text)
    if call is None or call.name != "Last" or len(call.arguments) != 1:
        return None
    from streams_orchestration.spl.language.tokens import tokenize

    argument = call.arguments[0].text
    tokens = tokenize(argument)
    texts, offsets = tokens.texts, tokens.offsets
    parts, functions, done = list[str](), dict[str, PaneFunction](), 0
    for at, name in enumerate(texts[:-2]):
        if name not in _IN_SPL or list(texts[at + 1 : at + 3]) != ["(", ")"] or (at and texts[at - 1] in (".", "::")):
            continue
        functions[name + _MARK] = PANE_FUNCTIONS[name]
        parts += (argument[done : offsets[at]], name + _MARK)
        done = offsets[at + 2] + 1
    if not functions:
        return None
    types = ", ".join(f"{_IN_SPL[each.name]} {name}" for name, each in functions.items())
    return PaneExpression(text.with_text("".join([*parts, argument[done:]]), {"Pane": f"tuple<{types}>"}), functions)


def column_type(name: str) -> pa.DataType:
    """Return the type of the column with a function's value for a pane expression."""
    types = {"timestamp": pa.timestamp("ns", "UTC"), "uint64": pa.uint64()}
    return types.get(_IN_SPL[name.removesuffix(_MARK)], pa.string())
