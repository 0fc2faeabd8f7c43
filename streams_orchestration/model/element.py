"""The base class of all elements of a spec: immutable objects that refuse unknown keys and know their location."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.document import LocatedMapping
from streams_orchestration.model.location import Location


class Element(BaseModel):  # noqa: PLW1641  pydantic hashes frozen models
    """An element of a spec. In a spec its keys are camelCase; in Python the field names may be used as well."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    _origin: LocatedMapping | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _remember_origin(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if is_mapping(info.context) and is_mapping(data):
            # Errors of unknown keys are explained with the keys that this class knows.
            info.context.setdefault("classes", {})[id(data)] = cls
        element = handler(cls._without_empty_keys(data))
        if isinstance(data, LocatedMapping):
            element._origin = data
        return element

    @classmethod
    def _without_empty_keys(cls, data: Any) -> Any:
        """Return data without null keys whose default is a mapping, tuple, text or element; so the default applies."""
        if not is_mapping(data) or None not in data.values():
            return data
        empty = {
            info.alias or name
            for name, info in cls.model_fields.items()
            if isinstance(info.get_default(call_default_factory=True), tuple | dict | str | Element)
        }
        return {key: value for key, value in data.items() if value is not None or key not in empty}

    def __eq__(self, other: object) -> bool:
        # The location of an element is not part of its content.
        return type(self) is type(other) and vars(self) == vars(other)

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """Return the keys that this element may have in a spec."""
        return tuple(info.alias or name for name, info in cls.model_fields.items())

    def location(self, *path: str | int) -> Location | None:
        """Return the location of this element, or of the element at `path` below it; None if it was built in Python.

        A path that does not exist has the location of its last existing element.
        """
        return self._origin.location(*path) if self._origin is not None else None


def refuse(code: str, message: str, **context: Any) -> NoReturn:
    """Reject a value while it is read; loading turns this into a diagnostic with the given code.

    Raises:
        PydanticCustomError: always.
    """
    raise PydanticCustomError(code, message, context)  # pyright: ignore[reportArgumentType]
