"""Types of single values in a spec. Some accept a reference `${name}` in place of a number or a truth value."""

from __future__ import annotations

import math
import re
import zoneinfo
from collections.abc import Callable
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, Field, JsonValue, PlainValidator, Strict, model_validator

from streams_orchestration.model.containers import plain_value
from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.names import APPLICATION_NAME, APPLICATION_RULE, IDENTIFIER_RULE, nearest
from streams_orchestration.model.short_texts import shortened

INT32 = range(-(2**31), 2**31)
INT64 = range(-(2**63), 2**63)

_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_UID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")
_SUBMISSION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DEFINITION = re.compile(r"([A-Za-z_]\w*(\.[A-Za-z_]\w*)*::)?[A-Za-z_]\w*(#[1-9][0-9]*)?", re.ASCII)
_IMPLEMENTATION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_reference(value: object) -> bool:
    """Return True if the text is exactly one reference `${...}`."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def is_implementation(text: str) -> bool:
    """Return True if the text has the form `package.module:Class`."""
    return _IMPLEMENTATION.fullmatch(text) is not None


def _wrong(expected: str, value: object) -> NoReturn:
    refuse("SO0009", "{expected} is expected, not {found}", expected=expected, found=show(value))


def show(value: object) -> str:
    """Return a value as text of at most 60 characters for a message; of a mapping or list, only the kind is named."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return shortened(repr(value), 60)


def _integer(value: Any) -> int | str:
    if is_reference(value):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        _wrong("an integer or ${name}", value)
    if value not in INT32:
        refuse("SO0401", "{value} does not fit into int32", value=value)
    return value


def _number(value: Any) -> float | str:
    if is_reference(value):
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        _wrong("a number or ${name}", value)
    if not math.isfinite(value):
        refuse("SO0401", "{value} is not a finite number", value=str(value))
    return float(value)


def _boolean(value: Any) -> bool | str:
    if is_reference(value) or isinstance(value, bool):
        return value
    _wrong("true, false or ${name}", value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        _wrong("a text (put it into quotes)" if isinstance(value, int | float) else "a text", value)
    return value


def _named(pattern: re.Pattern[str], rule: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            refuse("SO0105", "{text} is not usable here: {rule}", text=show(text), rule=rule)
        return text

    return check


def _time_zone(name: str) -> str:
    known = zoneinfo.available_timezones() if name != "UTC" else {name}
    if name not in known:
        near = nearest(name, known)
        refuse("SO0217", "there is no time zone {name}{near}; IANA has the names", name=show(name), near=near)
    return name


Integer = Annotated[int | str, PlainValidator(_integer, json_schema_input_type=int | str)]
"""An int32, or a reference to one."""
Number = Annotated[float | str, PlainValidator(_number, json_schema_input_type=float | str)]
"""A float64 or an integer, or a reference to one."""
Boolean = Annotated[bool | str, PlainValidator(_boolean, json_schema_input_type=bool | str)]
"""True or false, or a reference to a truth value."""
Flag = Annotated[bool, Strict()]
"""True or false; a reference is not allowed."""
Count = Annotated[int, Strict(), Field(ge=0)]
"""A non-negative integer."""
Text = Annotated[str, PlainValidator(_text, json_schema_input_type=str)]
"""A text, which may contain references."""
Name = Annotated[Text, AfterValidator(_named(_NAME, "letters, digits, _ and -, not starting with a digit"))]
"""The name of an invocation, a stream or a port."""
Uid = Annotated[Text, AfterValidator(_named(_UID, "names with dots between them, as in Out.Counts"))]
"""The identity of an invocation across redeploys. It may be the former full logical name of a renamed operator."""
Identifier = Annotated[Text, AfterValidator(_named(_IDENTIFIER, IDENTIFIER_RULE))]
"""A plain name of letters, digits and underscores, as of a submission-time value or a schema."""
SubmissionName = Annotated[
    Text, AfterValidator(_named(_SUBMISSION_NAME, "letters, digits, _, - and ., not starting with a digit"))
]
"""The name of a submission-time value."""
DefinitionName = Annotated[
    Text,
    AfterValidator(_named(_DEFINITION, f"{IDENTIFIER_RULE}; a namespace may be in front, as in my.space::Name")),
]
"""The name of an operator or composite, perhaps with a namespace. A suffix such as `#2` tells composites apart that SPL
defines once, but whose contents differ."""
ApplicationName = Annotated[Text, AfterValidator(_named(APPLICATION_NAME, APPLICATION_RULE))]
"""The name of an application."""
TimeZone = Annotated[Text, AfterValidator(_time_zone)]
"""The IANA name of a time zone."""
Implementation = Annotated[Text, AfterValidator(_named(_IMPLEMENTATION, "package.module:Class is expected"))]
"""The import path `package.module:Class` of an operator."""
Parameter = Annotated[JsonValue, AfterValidator(plain_value)]
"""A parameter's value: any JSON value; its texts may contain references."""

SubmissionType = Literal["int32", "int64", "float64", "boolean", "rstring"]


class SubmissionValue(Element):
    """A value that is given at submission. Without a default it is required."""

    type: SubmissionType
    default: Parameter = None

    @model_validator(mode="after")
    def _check_default(self) -> SubmissionValue:
        if self.default is not None and not self.accepts(self.default):
            message = "the default {default} is not of type {type}"
            refuse("SO0203", message, default=show(self.default), type=self.type)
        return self

    def accepts(self, value: object) -> bool:
        """Return True if a value fits the declared type; integers fit float64, but infinity and NaN do not."""
        if isinstance(value, bool) or self.type == "boolean":
            return isinstance(value, bool) and self.type == "boolean"
        if self.type == "rstring":
            return isinstance(value, str)
        if self.type == "float64":
            return isinstance(value, int | float) and math.isfinite(value)
        return isinstance(value, int) and value in (INT32 if self.type == "int32" else INT64)

    def parse(self, text: str) -> int | float | bool | str:
        """Parse a text of the command line as the declared type; `true` and `false` may be in any case.

        Raises:
            ValueError: the text is not of the declared type.
        """
        value: int | float | bool | str = text
        if self.type in ("int32", "int64"):
            value = int(text)
        elif self.type == "float64":
            value = float(text)
        elif self.type == "boolean":
            if text.lower() not in ("true", "false"):
                raise ValueError(text)
            value = text.lower() == "true"
        if not self.accepts(value):
            raise ValueError(text)
        return value
