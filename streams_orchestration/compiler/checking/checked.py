"""A compilation with what only the operators know; their code is loaded where it is needed."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.operators.standard import STANDARD


def checked(compilation: Compilation, *, deployable: bool) -> Compilation:
    """The same with the warnings of its operators.

    Args:
        compilation: without errors.
        deployable: it is to run here, so whatever keeps an operator from that is an error.

    Raises:
        ApplicationError: an operator finds errors.
    """
    diagnostics = compilation.diagnostics
    if deployable or any(each.parameters and each.kind in STANDARD for each in compilation.logical.operators):
        # loads the code of operators, which most applications that are only compiled do without
        from streams_orchestration.compiler.checking.checking import check_operators, check_parameters

        diagnostics = (*diagnostics, *(check_operators if deployable else check_parameters)(compilation))
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise ApplicationError(diagnostics)
    return replace(compilation, diagnostics=diagnostics)
