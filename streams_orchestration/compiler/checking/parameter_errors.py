"""Explains errors in the values of an operator's parameters to users."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from streams_orchestration.model.names import nearest
from streams_orchestration.model.secrets import HIDDEN, names_secret, without_secrets
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.clause import WindowClauseError
from streams_orchestration.operators.standard.refused import STREAMS_VALUES, refused_parameters

_WANTED = {
    "string_type": "a text",
    "string_sub_type": "a text",
    "bytes_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "mapping_type": "a mapping",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing": "an integer",
    "int_parsing_size": "an integer of at most 4300 digits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "none_required": "null",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "string_pattern_mismatch": "a text that matches {pattern}",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
}
"""Maps pydantic's kinds of errors to a description of the expected value."""


_TYPE = re.compile(r"(str|int|float|bool|list|dict|function|literal|tagged|constrained|model)\b.*")
"""Matches the name of a union member, which pydantic inserts into the location of an error."""


class ParameterError(NamedTuple):
    """An error in one parameter, or in several of them together."""

    text: str
    anywhere: bool
    """True if the value would be wrong in IBM Streams as well."""
    parameter: str
    """The name of the parameter; empty if the error concerns several."""
    of_clause: bool = False
    """True for a fault of a window clause of event time, which the compiler reports with a code of its own."""


def parameter_errors(implementation: type[Operator], error: ValidationError) -> list[ParameterError]:
    """Return the errors of a failed validation, explained."""
    return [
        ParameterError(
            *_explained(implementation, item),
            str(item["loc"][0]) if item["loc"] else "",
            isinstance(item.get("ctx", {}).get("error"), WindowClauseError),
        )
        for item in _of_the_form(error.errors())
    ]


def _of_the_form(items: list[ErrorDetails]) -> list[ErrorDetails]:
    """Keep only the errors for the form of value that the user gave, for parameters that accept a word or a mapping."""
    words = {item["loc"][0]: item for item in items if item["type"] == "literal_error" and len(item["loc"]) == 2}
    chosen: list[ErrorDetails] = []
    for item in items:
        name, *_ = item["loc"] or ("",)
        if name not in words:
            chosen.append(item)
        elif isinstance(words[name]["input"], dict) is not (item is words[name]):
            chosen.append({**item, "loc": (name, *item["loc"][2:])})
    return chosen


def _explained(implementation: type[Operator], item: ErrorDetails) -> tuple[str, bool]:
    """Return the explanation, and True if the value would be wrong in IBM Streams as well."""
    fields = implementation.Parameters.model_fields
    place = [str(each) for each in item["loc"] if not (isinstance(each, str) and _TYPE.fullmatch(each))]
    name = ".".join(place)
    value = item["input"]
    reason = item["msg"].removeprefix("Value error, ")
    streams = STREAMS_VALUES.get(implementation.__name__, {}).get(name, ())
    private = any(not field.repr for key, field in fields.items() if item["loc"][:1] in ((key,), (field.alias,)))
    contrast = "" if private else f", not {_shown(place, value)}"
    refused = refused_parameters(implementation)
    match item["type"]:
        case "extra_forbidden" if name in refused:
            if streams and not _is_one_of(value, streams):
                return _none_of(name, value, streams, contrast), True
            return f"the parameter {name} of Streams cannot be used here: {refused[name]}", False
        case "extra_forbidden" if len(item["loc"]) == 1:
            known = [field.alias or name for name, field in fields.items()]
            return f"there is no parameter {name}{nearest(name, known)}", True
        case "missing":
            return f"the parameter {name} is missing", False
        case "value_error" if not name:
            return reason, False
        case "literal_error":
            wanted = _values(implementation, str(item["loc"][0]))
            if _is_one_of(value, streams):
                return (
                    f"the value {value} of the parameter {name} of Streams cannot be used here; use {_or(wanted)}",
                    False,
                )
            return _none_of(name, value, wanted, contrast), True
        case "bool_parsing" | "bool_type":
            return _none_of(name, value, ("true", "false"), contrast), True
        case "extra_forbidden":
            return f"there is no parameter {name}", False
        case kind:
            # IBM Streams accepts a single value in place of a list, and texts for clauses such as `output` and `state`
            anywhere = kind.endswith("_type") and kind not in ("list_type", "dict_type")
            if kind in _WANTED:
                wanted = _WANTED[kind].format(**item.get("ctx", {}))
                return f"the parameter {name} is {wanted}{contrast}", anywhere
            return f"the parameter {name}: {reason}{contrast}", anywhere


def _values(implementation: type[Operator], parameter: str) -> tuple[str, ...]:
    """Return the literal values that a parameter's type allows."""
    fields = implementation.Parameters.model_fields.items()
    kind = next(field.annotation for name, field in fields if parameter in (name, field.alias))
    literals: list[str] = []
    kinds: list[Any] = [kind]
    for each in kinds:
        kinds += get_args(each)
        literals += [str(each)] if isinstance(each, str | int) else []
    return tuple(dict.fromkeys(literals))


def _is_one_of(value: Any, values: tuple[str, ...]) -> bool:
    return (str(value).lower() if isinstance(value, bool) else value) in values


def _none_of(name: str, value: Any, values: tuple[str, ...], contrast: str) -> str:
    hint = nearest(value, values) if isinstance(value, str) and "true" not in values else ""
    return f"the parameter {name} is {_or(values)}{contrast}{hint}"


def _shown(place: list[str], value: Any) -> str:
    """Return a value in YAML notation, without secrets."""
    value = HIDDEN if any(map(names_secret, place)) else without_secrets(value)
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)


def _or(values: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(values[:-1]), values[-1])))
