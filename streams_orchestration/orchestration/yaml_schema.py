"""The schema by which `dg check yaml` judges the attributes of a component."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import dagster as dg
from pydantic import BaseModel, Field, create_model

Template = Annotated[str, Field(pattern=r"\{[{%]")]


class Checked(dg.Resolvable):
    """Attributes of a component whose schema accepts text for a value of another type only if it is a Jinja template.

    Dagster's own schema accepts any text for every attribute, since it may be a template, and has no descriptions.
    """

    @classmethod
    def model(cls) -> type[BaseModel]:
        """Return the pydantic model of the attributes in the form that YAML has."""
        return _checked(cls, super().model())


@cache
def _checked(attributes: type[Any], derived: type[BaseModel]) -> type[BaseModel]:
    given: dict[str, Any] = attributes.model_fields
    fields: dict[str, Any] = {}
    for name, field in derived.model_fields.items():
        own = given[name].annotation
        kept = field.annotation if str in _alternatives(own) else _without_plain_text(field.annotation)
        fields[name] = (kept, Field(default=field.default, description=given[name].description))
    return create_model(derived.__name__, __base__=derived, **fields)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _without_plain_text(annotation: Any) -> Any:
    return Union[tuple(Template if each is str else each for each in _alternatives(annotation))]  # noqa: UP007
