"""References to secrets in a spec, `${env:NAME}` and `${file:PATH}`, resolved only when the value is used."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.secrets import REFERENCE, names_secret, remember
from streams_orchestration.operators.errors.errors import RefusedError

PARAMETERS = ("catalog", "client", "headers", "password", "registry", "storage", "token", "url", "user")
"""The parameters of standard operators that may contain references."""


_EXPOSED = "it contains a secret, which plans and logs would show; use a reference instead: ${env:NAME} or ${file:PATH}"
_SET = (
    "hosts have the environment of the command, Dagster daemon or agent that starts them: set it there, and run it "
    "again"
)
_READABLE = (
    "hosts are processes of the user whose command, Dagster daemon or agent starts them: write the file where that "
    "user can read it, and run it again"
)


class UnresolvedReferenceError(RefusedError):
    """A reference cannot be resolved. The message contains its name, never a value.

    Attributes:
        reason: the message without the remedy.
        remedy: a sentence without its full stop that says where to set the value.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason = reason
        self.remedy = remedy


def is_reference(text: str) -> bool:
    """Return True if the text is exactly one reference."""
    return REFERENCE.fullmatch(text) is not None


def exposed_secret(name: str) -> ValueError:
    """Return the error that a parameter contains a secret instead of a reference to it."""
    return ValueError(f"{name}: {_EXPOSED}")


def _require_reference(text: str | None) -> str | None:
    if text is not None and not is_reference(text):
        raise ValueError(_EXPOSED)
    return text


Secret = Annotated[str | None, AfterValidator(_require_reference), Field(repr=False)]
"""The type of a parameter with a secret, which must be a reference; None if it is not given."""


def resolved(text: str, parameter: str) -> str:
    """Replace the references in a text by their values. The content of a file is stripped of white space at both ends.

    Values that may be secrets are masked in all output from then on.

    Args:
        text: the text of a parameter.
        parameter: the name, for errors.

    Raises:
        UnresolvedReferenceError: a variable is not set, or a file cannot be read or is not UTF-8.
    """

    def value(match: re.Match[str]) -> str:
        found = _value(match[1], match[2], parameter)
        around = (text[: match.start()][-1:], text[match.end() :][:1])
        if match[1] == "file" or names_secret(match[2]) or names_secret(parameter) or around == (":", "@"):
            remember(found)
        return found

    return REFERENCE.sub(value, text)


def unresolved(parameters: Mapping[str, Any]) -> Iterator[UnresolvedReferenceError]:
    """Yield an error for each reference in a standard operator's parameters that this process cannot resolve.

    Args:
        parameters: the values by name, as in the spec.
    """
    for name in PARAMETERS:
        for parameter, text in _texts(name, parameters.get(name)):
            try:
                resolved(text, parameter)
            except UnresolvedReferenceError as error:
                yield error


def without(text: str, secrets: Iterable[str]) -> str:
    """Replace secrets in a text by `***`. Empty secrets are ignored."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return text


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the text of a parameter, or all texts in a mapping, each with its name for errors."""
    if is_mapping(value):
        for key, each in value.items():
            yield from _texts(f"{name}: {key}", each)
    elif isinstance(value, str):
        yield name, value


def _value(kind: str, name: str, parameter: str) -> str:
    if kind == "file":
        try:
            return Path(name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            reason = f"{parameter}: the file {name} cannot be read by the host's process: {why}"
            raise UnresolvedReferenceError(reason, _READABLE) from error
    value = os.environ.get(name)
    if value is None:
        reason = f"{parameter}: the environment variable {name} is not set in the host's process"
        raise UnresolvedReferenceError(reason, _SET)
    return value
