"""The page of all functions, made from their table: `python -m streams_orchestration.builder.functions_page`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from streams_orchestration.expressions.catalog import GROUPS, REFUSED
from streams_orchestration.expressions.functions.choices import CHOICES
from streams_orchestration.expressions.table import Form, Function
from streams_orchestration.operators.standard.output_functions import (
    EXAMPLE_ROWS,
    EXAMPLE_SCHEMA,
    OUTPUT_FUNCTIONS,
    OutputFunction,
)

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"

_HEAD = """# Functions

An expression has the value that Spark 4.3 gives it with ANSI mode on and the time zone UTC. A test compares every
example with Spark.

- Whole numbers do not wrap around: a sum beyond its type is an error that names the tuple. `try_add` and the other
  `try_` functions give null instead.
- A number with a point is a decimal (`1.5`), one with an exponent a double (`1.5e0`). `7 / 2` is the double 3.5.
- Texts stand in single or double quotes, names with other characters than letters, digits and `_` in backticks.
- NaN equals NaN and is the largest number; `0.0` equals `-0.0`.
- The last digit of logarithms, powers and trigonometric functions may differ from Spark's.
- Texts without a zone are times of UTC. A time of day without a date, which Spark reads as one of today, is no time.

{count} functions and operators. Not there: functions of several tuples ({others}; use an Aggregate),
and of a clock or of chance ({clocks}).
"""

_OUTPUT = """## Output functions

The functions of several tuples, which an `Aggregate` takes in `output`. Their values, their types and the handling of
null and NaN are those of Spark in ANSI mode, which a test compares. Each takes tuples in one after another, and merges
the running values of two parts of a group, so a window that markers close can be divided among channels.

`Count`, and `Sum`, `Average`, `Min` and `Max` of numbers and conditions are calculated for all groups at once. The
others take in about a million values a second. There is no approximate count of different values.

The examples are over tuples of the type `{schema}`:
{tuples}.

| function | value | null | example |
|---|---|---|---|
{rows}
"""


def functions_page() -> str:
    """Return the page as Markdown."""
    count = sum(len(group.functions) for group in GROUPS) + len(CHOICES)
    others = ", ".join(f"`{name}`" for name in ("sum", "count", "lag") if name in REFUSED) + " and so on"
    clocks = (
        ", ".join(f"`{name}`" for name in ("now", "current_date", "rand", "uuid") if name in REFUSED) + " and so on"
    )
    parts = [_HEAD.format(count=count, others=others, clocks=clocks)]
    for group in GROUPS:
        listed: list[Function | Form] = [*group.functions, *(CHOICES if group.heading == "Conditions" else ())]
        rows = "\n".join(map(_row, listed))
        parts.append(f"## {group.heading}\n\n| function | value | example |\n|---|---|---|\n{rows}\n")
    rows = "\n".join(map(_output_row, OUTPUT_FUNCTIONS))
    tuples = ", ".join(f"`({', '.join(map(_sql, row))})`" for row in EXAMPLE_ROWS)
    parts.append(_OUTPUT.format(schema=EXAMPLE_SCHEMA, tuples=tuples, rows=rows))
    return "\n".join(parts)


def _output_row(function: OutputFunction) -> str:
    forms = "<br>".join(map(_code, function.forms))
    examples = "<br>".join(f"{_code(call)} is {_code(_sql(value))}" for call, value in function.examples)
    return f"| {forms} | {function.summary} | {function.nulls} | {examples} |"


def _sql(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "NULL" if value is None else str(value)


def _row(function: Function | Form) -> str:
    forms = "<br>".join(_code(form.text) for form in function.signatures) or _code(function.name)
    examples = "<br>".join(f"{_code(text)} is {_code(value)}" for text, value in function.examples)
    return f"| {forms} | {_plain(function.summary)} | {examples} |"


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`" if text.strip() else "an empty text"


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page to the file that is named, `docs/functions.md` when none is."""
    paths = sys.argv[1:] if arguments is None else arguments
    (Path(paths[0]) if paths else PAGE).write_text(functions_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
