"""Applications that were checked and can run here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streams_orchestration.compiler.compilation import PlannedCompilation, Progress
from streams_orchestration.compiler.deployment_plan import DeploymentPlan
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of

if TYPE_CHECKING:
    from streams_orchestration.operators.expressions.expression import Noted


@dataclass(frozen=True, slots=True)
class Identified:
    """A compiled application with its fingerprint, which tells if it is the deployed one; made by `identified`."""

    compilation: PlannedCompilation
    fingerprint: str
    """The hash of all that decides how the application runs; see `fingerprint`."""

    @property
    def name(self) -> str:
        """The name of the application."""
        return self.compilation.logical.application

    @property
    def plan(self) -> DeploymentPlan:
        """The deployment plan of the application."""
        return self.compilation.deployment


@dataclass(frozen=True, slots=True)
class Deployable(Identified):
    """An application that can run here, with the warnings of its operators; made by `deployable` only."""


def identified(compilation: PlannedCompilation) -> Identified:
    """Return a compiled application with its fingerprint."""
    return Identified(compilation, fingerprint(compilation))


def findings_here(done: Progress, notes: dict[int, list[Noted]] | None = None) -> tuple[Diagnostic, ...]:
    """Return the errors that keep an application from running here, and the warnings on its operators.

    An application that only compiles gets a single error that says so. The refusal of the deployment plan is an error
    only if the operators have none.

    Args:
        done: the results of the application's stages, including the deployment plan.
        notes: receives the expressions of each operator that has any, by its number.

    Raises:
        ValueError: there is no deployment plan.
    """
    # loads the code of operators, which applications that are only compiled do without
    from streams_orchestration.compiler.checking.checking import check_operators

    if reason := done[LogicalGraph].plan_only:
        return (Diagnostic.of("SO0740", f"the application only compiles: {reason}"),)
    plan = done[DeploymentPlan]
    found = tuple(check_operators(done, notes))
    if plan.refusal and not errors_of(found):
        return (*found, Diagnostic.of("SO5009", plan.refusal))
    return found


def deployable(application: PlannedCompilation | Identified) -> Deployable:
    """Check that a compiled application can run here, and return it with the operators' expressions and all warnings.

    Raises:
        ApplicationError: operators have wrong parameters or cannot be imported, the PEs cannot run, or the application
            only compiles; the error holds everything that was found.
    """
    known = application if isinstance(application, Identified) else identified(application)
    compilation = known.compilation
    notes: dict[int, list[Noted]] = {}
    diagnostics = (*compilation.diagnostics, *findings_here(compilation.progress, notes))
    if errors_of(diagnostics):
        raise ApplicationError(diagnostics)
    operators = (
        replace(each, expressions=tuple(tuple(note) for note in dict.fromkeys(notes.get(each.index, ()))))
        for each in compilation.logical.operators
    )
    logical = replace(compilation.logical, operators=tuple(operators))
    checked = replace(compilation, logical=logical, diagnostics=diagnostics)
    return Deployable(checked, known.fingerprint)
