"""The page of all functions, made from their table: `make docs`."""

from __future__ import annotations

import re
import textwrap

from streams_orchestration.expressions.catalog import GROUPS
from streams_orchestration.expressions.functions.choices import CHOICES
from streams_orchestration.expressions.refused import REFUSED
from streams_orchestration.expressions.table import Form, SqlFunction
from streams_orchestration.operators.standard.aggregation.output_functions import (
    EXAMPLE_ROWS,
    EXAMPLE_SCHEMA,
    OUTPUT_FUNCTIONS,
    STREAMS_FUNCTIONS,
    OutputFunction,
)
from streams_orchestration.operators.standard.aggregation.pane_functions import PANE_FUNCTIONS

_HEAD = """# Functions

The {count} functions and operators that [expressions](expressions.md) may use. Each has the value that Spark 4.3 gives
it in ANSI mode; examples are in the time zone UTC, and a test compares every example with Spark. Two things differ: the
last digit of logarithms, powers and trigonometric functions may differ, and a text with a time of day but no date,
which Spark reads as a time of today, is refused.

Groups: {groups}, and the [output functions](#output-functions) of `Aggregate`.

How to read the tables:

- `upper(value string) -> string` names the parameters with their types, and the type of the value. Arguments of other
  types are converted as in Spark. `T` stands for any type, the same in all its places, and `T...` for any number of
  arguments. An operator, or a function whose types follow rules of its own, is shown by its name only.
- A function is null if an argument is null, unless its description says otherwise.
- Examples show values as Spark shows them.

Not supported are functions of several tuples ({others}; use an `Aggregate`).
Neither are functions of a clock or of chance ({clocks}), whose values would change in a replay.
The error for any other function of Spark says why it is refused, and what to use.
"""

_OUTPUT = """## Output functions

`output` of an `Aggregate` takes these functions over the tuples of a group. Values, types, and the handling of null and
NaN are the same as in Spark's ANSI mode; a test compares them. Running values can be merged, so a window that markers
close can be divided among channels.

`Count`, and `Sum`, `Average`, `Min` and `Max` of numbers and conditions, are vectorised over all groups. The others
process about a million values per second.

The examples are over tuples of the type `{schema}`:
{tuples}.

| function | value | null | example |
|---|---|---|---|
{rows}

The following functions come from IBM Streams; their results do not depend on Spark.

| function | value | null | example |
|---|---|---|---|
{further}

With `functions: streams` an `Aggregate` computes as IBM Streams does. Then a result has the type of its argument: sums
of integers wrap around, `Sum` joins texts, the mean of integers is exact and truncated, and the mean of floats is a
running mean, whose last digits may differ from the sum divided by the count. Counts are `int`, `ArgMin` and `ArgMax`
take the first of several tuples, and the deviation of one value is 0. `Sum`, `Average`, `Min` and `Max` take lists of
numbers, too, and go element by element; lists of different sizes are an error. The arguments of `ArgMin` and `ArgMax`
are in the order above; SPL writes `by` first.

An `Aggregate` with a [window of event time](reference.md#windows-of-event-time) has functions over the pane besides. A
time has the type of the event-time attribute.

| function | value |
|---|---|
{panes}
"""


def functions_page() -> str:
    """Return docs/functions.md."""
    count = sum(len(group.functions) for group in GROUPS) + len(CHOICES)
    others = ", ".join(f"`{name}`" for name in ("sum", "count", "lag") if name in REFUSED) + " and so on"
    clocks = (
        ", ".join(f"`{name}`" for name in ("now", "current_date", "rand", "uuid") if name in REFUSED) + " and so on"
    )
    groups = ", ".join(f"[{group.heading}](#{_anchor(group.heading)})" for group in GROUPS)
    head = _HEAD.format(count=count, groups=groups, others=others, clocks=clocks)
    parts = ["\n".join(_wrapped(line) for line in head.split("\n"))]
    for group in GROUPS:
        listed: list[SqlFunction | Form] = [*group.functions, *(CHOICES if group.heading == "Conditions" else ())]
        rows = "\n".join(map(_row, listed))
        parts.append(f"## {group.heading}\n\n| function | description | example |\n|---|---|---|\n{rows}\n")
    rows = "\n".join(map(_output_row, OUTPUT_FUNCTIONS))
    further = "\n".join(map(_output_row, STREAMS_FUNCTIONS))
    panes = "\n".join(f"| `{each.name}() -> {each.gives}` | {each.summary} |" for each in PANE_FUNCTIONS.values())
    tuples = ", ".join(f"`({', '.join(map(_sql, row))})`" for row in EXAMPLE_ROWS)
    parts.append(_OUTPUT.format(schema=EXAMPLE_SCHEMA, tuples=tuples, rows=rows, further=further, panes=panes))
    return "\n".join(parts)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def _wrapped(line: str) -> str:
    return textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)


def _output_row(function: OutputFunction) -> str:
    forms = "<br>".join(map(_code, function.forms))
    examples = "<br>".join(f"{_code(call)} is {_code(_sql(value))}" for call, value in function.examples)
    return f"| {forms} | {function.summary} | {function.nulls} | {examples} |"


def _sql(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "NULL" if value is None else str(value)


def _row(function: SqlFunction | Form) -> str:
    forms = "<br>".join(_code(form.text) for form in function.signatures) or _code(function.name)
    examples = "<br>".join(f"{_code(text)} is {_code(value)}" for text, value in function.examples)
    return f"| {forms} | {_plain(function.summary)} | {examples} |"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`" if text.strip() else "an empty text"


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
