"""The classes that implement the operators of a graph."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.model.programs import has_handlers, runs_logic
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.implementations.implementation import ImplementationError, import_operator
from streams_orchestration.operators.loading.import_path import LOGIC_SUFFIX, import_from
from streams_orchestration.operators.standard import STANDARD, standard_class


class NoImplementationError(ImplementationError):
    """No class is known for an operator, so it can only be compiled."""


def implementation_name(operator: LogicalOperator) -> str:
    """Return the `package.module:Class` of an operator, followed by `LOGIC_SUFFIX` if logic of SPL runs beside it.

    Raises:
        NoImplementationError: the operator is compile-only.
    """
    name = operator.implementation
    if name is None and operator.standard:
        name = standard_class(operator.kind, operator.parameters, has_inputs=bool(operator.inputs))
    if name is None:
        message = (
            f"{operator.kind} has no implementation that could run; declare one: "
            f"operators: {{{operator.kind}: {{implementation: package.module:Class}}}}"
        )
        raise NoImplementationError(message)
    own = operator.engine != "tuples" or (operator.implementation is None and runs_logic(operator.kind))
    return f"{name}{LOGIC_SUFFIX}" if not own and has_handlers(operator.parameters) else name


def is_standard(operator: LogicalOperator) -> bool:
    """Return True for a standard operator that can run, False for one that the application declares."""
    return operator.standard and operator.implementation is None and operator.kind in STANDARD


def import_beside(file: str) -> None:
    """Add the directory of a spec to the end of the module search path; do nothing for an empty path."""
    if file:
        import_from(str(Path(file).absolute().parent))


def load_operator(operator: LogicalOperator) -> type[Operator]:
    """Import the class that implements an operator.

    The working directory and the directory of the spec are added to the end of the module search path.

    Raises:
        NoImplementationError: the operator is compile-only.
        ImplementationError: the class cannot be imported.
    """
    places = [Path.cwd()] + ([Path(operator.location.file).absolute().parent] if operator.location else [])
    for place in places:
        import_from(str(place))
    return import_operator(implementation_name(operator))
