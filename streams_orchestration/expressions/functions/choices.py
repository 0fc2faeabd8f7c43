"""Functions that evaluate only the arguments they need; `typing` turns each into a node of its own kind."""

from __future__ import annotations

from streams_orchestration.expressions.table import Form, FunctionSignature


def _form(signature: str, summary: str, *examples: tuple[str, str]) -> Form:
    read = FunctionSignature.of(signature)
    return Form(signature.partition("(")[0], (read,), summary, examples)


_FIRST = "Return the first value that is not null; the values after it are not evaluated."
_CHOICE = "Return the first value if the condition is true, else the second; the other one is not evaluated."
CHOICES = (
    _form("coalesce(values T...) -> T", _FIRST, ("coalesce(NULL, 2, 1 / 0)", "2.0")),
    _form("nvl(value T, otherwise T) -> T", _FIRST, ("nvl(NULL, 'a')", "a")),
    _form("ifnull(value T, otherwise T) -> T", _FIRST, ("ifnull(NULL, 1)", "1")),
    _form("if(condition boolean, value T, otherwise T) -> T", _CHOICE, ("if(1 < 2, 'a', 'b')", "a")),
    _form(
        "nvl2(value any, present T, missing T) -> T",
        "Return the second value if the first is not null, else the third.",
        ("nvl2(NULL, 1, 2)", "2"),
    ),
    _form(
        "nullif(value T, other T) -> T",
        "Return null if both are equal, else the first value.",
        ("nullif(2, 2)", "NULL"),
    ),
    _form(
        "nanvl(value double, otherwise double) -> double",
        "Return the first number, or the second if the first is NaN.",
        ("nanvl(DOUBLE('NaN'), 1.5e0)", "1.5"),
    ),
)
"""All lazy functions, except AND, OR and CASE, and except `iff`, an alias of `if` that other systems use."""
