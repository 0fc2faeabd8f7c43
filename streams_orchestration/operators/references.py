"""References to secrets: `${env:NAME}` and `${file:PATH}` stand in a spec for what is read where it is used only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from streams_orchestration.model.secrets import REFERENCE, names_secret, remember
from streams_orchestration.operators.errors import RefusedError


class ReferenceError(RefusedError):
    """A reference cannot be resolved; the message has its name, never a value."""


def is_reference(text: str) -> bool:
    """Whether the text is one reference and nothing else."""
    return REFERENCE.fullmatch(text) is not None


def resolved(text: str, parameter: str) -> str:
    """Return the text with the values of its references; what may be a secret among these is hidden from then on.

    Args:
        text: of a parameter.
        parameter: its name, for errors.

    Raises:
        ReferenceError: a variable is not set, or a file cannot be read.
    """

    def value(match: re.Match[str]) -> str:
        found, around = _value(match[1], match[2], parameter), (text[: match.start()][-1:], text[match.end() :][:1])
        if match[1] == "file" or names_secret(match[2]) or names_secret(parameter) or around == (":", "@"):
            remember(found)
        return found

    return REFERENCE.sub(value, text)


def without(text: str, secrets: Iterable[str]) -> str:
    """A text with `***` in place of secrets; empty ones are none."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text


def _value(kind: str, name: str, parameter: str) -> str:
    if kind == "file":
        try:
            return Path(name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            message = f"{parameter}: the file {name} cannot be read by the host's process: {reason}"
            raise ReferenceError(message) from error
    value = os.environ.get(name)
    if value is None:
        message = (
            f"{parameter}: the environment variable {name} is not set in the host's process; hosts have the "
            "environment of the command, or the Dagster daemon, that starts them: set it there, then reset or run it "
            "again"
        )
        raise ReferenceError(message)
    return value
