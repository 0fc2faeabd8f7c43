"""Operators that the names of a file mean."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.spl.language.definitions import Composite
from streams_orchestration.spl.language.tree import qualified
from streams_orchestration.spl.models.operators import SplOperatorModel
from streams_orchestration.spl.toolkits.units import LoadedUnit


@dataclass(frozen=True, eq=False)
class CompositeOperator:
    """A composite, with the file that defines it."""

    unit: LoadedUnit
    composite: Composite

    @property
    def kind(self) -> str:
        """The name of the composite with its namespace."""
        return qualified(self.unit.namespace, self.composite.name.name)


@dataclass(frozen=True)
class PrimitiveOperator:
    """A primitive operator: a standard one, or a native one of a toolkit."""

    namespace: str
    name: str
    standard: bool
    model: SplOperatorModel | None = None
    """The model of a native operator; None without a model, so that the invocation determines the ports."""

    @property
    def kind(self) -> str:
        """The name of a standard operator, or the qualified name of any other operator."""
        return self.name if self.standard else qualified(self.namespace, self.name)
