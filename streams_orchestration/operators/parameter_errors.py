"""Errors in the values of an operator's parameters, in words that a user can act upon."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.standard.refused import STREAMS_VALUES


class ParameterError(NamedTuple):
    """An error in a parameter, or in all of them together."""

    text: str
    anywhere: bool
    """Whether it is wrong in Streams, too."""
    parameter: str
    """Empty where it is about several."""


def parameter_errors(implementation: type[Operator], error: ValidationError) -> list[ParameterError]:
    """Return the errors of each parameter."""
    return [
        ParameterError(*_explained(implementation, item), str(item["loc"][0]) if item["loc"] else "")
        for item in _of_the_form(error.errors())
    ]


def _of_the_form(items: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return the errors of a parameter that is a word or a mapping only for the form that its value has."""
    words = {item["loc"][0]: item for item in items if item["type"] == "literal_error" and len(item["loc"]) > 1}
    chosen: list[ErrorDetails] = []
    for item in items:
        name, *_ = item["loc"] or ("",)
        if name not in words:
            chosen.append(item)
        elif isinstance(words[name]["input"], dict) is not (item is words[name]):
            chosen.append({**item, "loc": (name, *item["loc"][2:])})
    return chosen


def _explained(implementation: type[Operator], item: ErrorDetails) -> tuple[str, bool]:
    """The text, and whether it is wrong in Streams, too."""
    fields = implementation.Parameters.model_fields
    name, value, reason = ".".join(map(str, item["loc"])), item["input"], item["msg"].removeprefix("Value error, ")
    streams = STREAMS_VALUES.get(implementation.__name__, {}).get(name, ())
    match item["type"]:
        case "extra_forbidden" if name in implementation.unsupported:
            if streams and not _is_one_of(value, streams):
                return _none_of(name, value, streams), True
            return f"the parameter {name} of Streams cannot be used here: {implementation.unsupported[name]}", False
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
                return f"the parameter {name}: {value} of Streams cannot be used here; use {_or(wanted)}", False
            return _none_of(name, value, wanted), True
        case "bool_parsing" | "bool_type":
            return _none_of(name, value, ("true", "false")), True
        case "int_parsing" | "float_parsing":
            wanted = "an integer" if item["type"] == "int_parsing" else "a number"
            return f"the parameter {name} is {wanted}, not {value!r}", False
        case kind:
            field = fields.get(str(item["loc"][0]))
            contrast = "" if field is not None and not field.repr else f", not {value!r}"
            # Streams takes a single value for a list, and texts for clauses like `output` and `state`
            return f"the parameter {name}: {reason}{contrast}", kind.endswith("_type") and kind not in (
                "list_type",
                "dict_type",
            )


def _values(implementation: type[Operator], parameter: str) -> tuple[str, ...]:
    """The values of an enumeration, a part of the parameter's type or all of it."""
    fields = implementation.Parameters.model_fields.items()
    kind = next(field.annotation for name, field in fields if parameter in (name, field.alias))
    literals: list[str] = []
    kinds: list[Any] = [kind]
    for each in kinds:
        kinds += get_args(each)
        literals += [each] if isinstance(each, str) else []
    return tuple(dict.fromkeys(literals))


def _is_one_of(value: Any, values: tuple[str, ...]) -> bool:
    return (str(value).lower() if isinstance(value, bool) else value) in values


def _none_of(name: str, value: Any, values: tuple[str, ...]) -> str:
    hint = nearest(value, values) if isinstance(value, str) and "true" not in values else ""
    return f"the parameter {name} is {_or(values)}, not {value!r}{hint}"


def _or(values: tuple[str, ...]) -> str:
    return f"{', '.join(values[:-1])} or {values[-1]}"
