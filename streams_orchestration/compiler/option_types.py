"""The types of compiler options that users write as texts, on the command line and on the console's pages."""

from __future__ import annotations

import math
import re
from typing import Any, get_args, get_type_hints

import click

from streams_orchestration.compiler.options import Options


class AssignmentOption(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`NAME=VALUE`, also `Composite.NAME=VALUE`; gives (name, text)."""

    name = "NAME=VALUE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the name and the text; a value of another form is a usage error."""
        name, equals, text = value.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?", name):
            self.fail(f"{value!r} is not NAME=VALUE. Write for example --set width=4.", param, ctx)
        return name, text


class WidthOption(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`PATTERN=N`; gives (pattern of region names, width)."""

    name = "PATTERN=N"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return the pattern and the width; a width below 1 or another form is a usage error."""
        pattern, equals, text = value.rpartition("=")
        if not equals or not pattern or not re.fullmatch(r"\d{1,10}", text) or int(text) < 1:
            message = f"{value!r} is not PATTERN=N with a whole number N of at least 1"
            self.fail(f"{message}. Write for example --width 'Out.*=4'.", param, ctx)
        return pattern, int(text)


class FiniteRange(click.FloatRange):
    """A number within limits. `nan` and `inf`, which Python reads as numbers, are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; a number outside of the limits, `nan` and `inf` are usage errors."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def _choices(field: str) -> click.Choice[str]:
    hint = get_type_hints(Options)[field]
    values = [value for arg in (hint, *get_args(hint)) for value in get_args(arg) if isinstance(value, str)]
    return click.Choice(list(dict.fromkeys(values)))


ASSIGNMENT = AssignmentOption()
WIDTH = WidthOption()
CHOICES = {field: _choices(field) for field in ("fusion", "channel_fusion", "threading")}
"""Field of `Options` -> the words that its option accepts."""
PES = click.IntRange(min=1)
PE_CAPACITY = FiniteRange(min=0, min_open=True)
