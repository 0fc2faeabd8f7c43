"""Compilations together with the findings on operators' parameters."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.compiler.compilation import CompileError, PlannedCompilation
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.misleading import trusted_of_operators
from streams_orchestration.model.diagnostics import ApplicationError, errors_of, in_order
from streams_orchestration.operators.standard import STANDARD


def with_findings_of_operators(error: CompileError, *, deploys: bool) -> ApplicationError:
    """Return the errors of an application that does not compile, with those added that its operators find.

    Findings of operators that the errors make doubtful are left out. Without a logical graph, nothing is added.

    Args:
        error: the errors of the application's text and of its stages.
        deploys: True if the application is to run here; False to check only the parameters of operators.
    """
    if error.done.get(LogicalGraph) is None:
        return error
    # loads the code of operators, which most applications that are only compiled do without
    from streams_orchestration.compiler.checking.checking import check_operators, check_parameters

    found = check_operators(error.done) if deploys else check_parameters(error.done)
    return ApplicationError(in_order((*error.diagnostics, *trusted_of_operators(found, error.diagnostics))))


def checked(compilation: PlannedCompilation) -> PlannedCompilation:
    """Return a compilation with the warnings about standard operators, native operators and native functions added.

    A compilation without any of these is returned unchanged; standard operators without parameters do not count.

    Raises:
        ApplicationError: an operator finds errors.
    """
    operators = compilation.logical.operators
    if not any(each.is_native or (each.parameters and each.kind in STANDARD) for each in operators):
        return compilation
    # loads the code of operators, which most applications that are only compiled do without
    from streams_orchestration.compiler.checking.checking import check_parameters

    diagnostics = (*compilation.diagnostics, *check_parameters(compilation.progress))
    if errors_of(diagnostics):
        raise ApplicationError(diagnostics)
    return replace(compilation, diagnostics=diagnostics)
