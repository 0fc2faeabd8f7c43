"""The generator of `functions.py` from the tables of functions and output functions: `make docs`."""

from __future__ import annotations

import keyword

from streams_orchestration.expressions.catalog import GROUPS
from streams_orchestration.expressions.functions.choices import CHOICES
from streams_orchestration.expressions.table import Form, FunctionSignature, SqlFunction
from streams_orchestration.operators.standard.aggregation.output_functions import (
    OUTPUT_FUNCTIONS,
    STREAMS_FUNCTIONS,
    OutputFunction,
)
from streams_orchestration_tests.generated.operators_source import snake

_HEAD = '''"""The functions of expressions over columns, and the output functions of `Aggregate`.

`make docs` writes this module from the tables of functions; edit those.
"""

# ruff: noqa: E501

from __future__ import annotations

from streams_orchestration.builder.columns import MISSING, Column, Summary, Value, call
'''


def source() -> str:
    """Return the text of the module."""
    functions = [each for group in GROUPS for each in group.functions]
    parts = [_function(each) for each in (*functions, *CHOICES) if python_name(each.name)]
    summaries = [_summary(each) for each in (*OUTPUT_FUNCTIONS, *STREAMS_FUNCTIONS)]
    return "\n\n".join([_HEAD, *parts, *summaries])


def python_name(name: str) -> str:
    """Return the name of a function in Python; empty for operators that are methods of a column or its operators."""
    if not name.isidentifier() or name in ("in", "not"):
        return ""
    return f"{name}_" if keyword.iskeyword(name) else name


def _function(function: SqlFunction | Form) -> str:
    parameters, names = _parameters(function.signatures)
    head = f"def {python_name(function.name)}({', '.join(parameters)}) -> Column:"
    forms = [form.text for form in function.signatures]
    text, value = function.examples[0]
    notes = [*(f"`{form}`" for form in forms), f"`{text}` is `{value}`." if value else f"`{text}` is an empty text."]
    body = f"    return call({', '.join([_quoted(function.name), *names])})"
    return f"{head}\n{_docstring(function.summary, notes)}\n{body}\n"


def _summary(function: OutputFunction) -> str:
    names = list(function.arguments)
    needed = len(names) - function.optional
    parameters = [f"{name}: Value" + " = MISSING" * (place >= needed) for place, name in enumerate(names)]
    head = f"def {snake(function.name)}({', '.join([*parameters, *('/' for _ in names[:1])])})"
    body = f"    return Summary({', '.join([_quoted(function.name), *names])})"
    note = f"`{function.call}` of `Aggregate`."
    return f"{head} -> Summary:\n{_docstring(function.summary, [note])}\n{body}\n"


def _parameters(signatures: tuple[FunctionSignature, ...]) -> tuple[list[str], list[str]]:
    """Return the parameters of a function in Python, and the arguments of the `call` in its body.

    They are `*arguments` if forms differ in their number of parameters, or take any number of them.
    """
    longest = max(signatures, key=lambda form: len(form.parameters), default=None)
    if longest is None or longest.variadic or any(len(f.parameters) != len(longest.parameters) for f in signatures):
        return ["*arguments: Value"], ["*arguments"]
    names = [f"{each.name}_" if keyword.iskeyword(each.name) else each.name for each in longest.parameters]
    required = longest.required
    parameters = [f"{name}: Value{'' if i < required else ' = MISSING'}" for i, name in enumerate(names)]
    return [*parameters, *("/" for _ in names[:1])], names


def _docstring(summary: str, notes: list[str]) -> str:
    raw = "r" if any("\\" in each for each in (summary, *notes)) else ""
    return f'    {raw}"""{summary}\n\n    ' + "\n    ".join(notes) + '\n    """'


def _quoted(text: str) -> str:
    return f'"{text}"'
