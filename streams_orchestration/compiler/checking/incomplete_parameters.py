"""Parameters of an operator that lack a required value, so that its expressions can be checked nevertheless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from streams_orchestration.operators.contract.operator import Parameters


def with_examples(kind: type[Parameters], sound: Mapping[str, Any]) -> Parameters | None:
    """Return parameters in which every missing required parameter has an example value.

    Rules that several parameters must meet together are not checked.

    Args:
        kind: the class of the parameters; its fields have examples.
        sound: the values of a spec that are of their parameters' types.

    Returns:
        None if a missing parameter has no example, or a value is not of its parameter's type.
    """
    values: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        written = field.alias or name
        if written in sound:
            try:
                values[name] = _adapter(field).validate_python(sound[written])
            except ValidationError:
                return None
        elif field.is_required():
            examples = [*(field.examples or ()), *(get_args(field.annotation) if _is_word(field) else ())]
            if not examples:
                return None
            values[name] = examples[0]
    return kind.model_construct(**values)


def missing_in(kind: type[Parameters], sound: Mapping[str, Any]) -> set[str]:
    """Return the names of the required parameters without a value, as a spec writes them."""
    names = {field.alias or name for name, field in kind.model_fields.items() if field.is_required()}
    return names.difference(sound)


def _is_word(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is Literal


def _adapter(field: FieldInfo) -> TypeAdapter[Any]:
    declared: Any = field.annotation
    for each in field.metadata:
        declared = Annotated[declared, each]
    return TypeAdapter[Any](declared)
