"""The base class of the parameters of operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from streams_orchestration.operators.expressions.evaluable import with_evaluables
from streams_orchestration.operators.expressions.spl.constants import with_constants


class Parameters(BaseModel):
    """The base class of an operator's parameters. Unknown parameters are errors.

    Expressions of SPL, which native operators have, become `Evaluable`. Those over submission-time values become values
    in the fields of standard operators that take no expressions.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _with_evaluables(cls, data: Any) -> Any:
        own = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
        return with_constants(data, cls.model_fields) if own else with_evaluables(data, cls.model_fields)

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        for fault in self._faults():
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        """Yield the faults of parameters that do not go together. The first one is reported."""
        yield from ()
