"""The output functions of Aggregate about a pane of event time itself, not about its tuples (EV37, EV63)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.operators.errors import FaultyExpressionError
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.spl.text import call_of


@dataclass(frozen=True, slots=True)
class PaneFunction:
    """The documentation of one of the output functions about a pane, which have no arguments."""

    name: str
    gives: Literal["time", "string", "bigint", "boolean"]
    """The type of the result; a time has the type of the event-time attribute."""
    summary: str

    def result_type(self, time: pa.DataType | None, wanted: pa.DataType | None = None) -> pa.DataType | None:
        """Return the type of the result.

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
    """Return the pane function that a text calls; None if the text is not a call of one.

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
