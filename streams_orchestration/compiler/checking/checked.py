"""A compilation with what is known of its operators' parameters; their code is loaded where it is needed."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.model.diagnostics import ApplicationError, errors_of
from streams_orchestration.operators.standard import STANDARD


def checked(compilation: Compilation) -> Compilation:
    """The same with the warnings of its standard operators: what is to be said wherever it is to run.

    Raises:
        ApplicationError: an operator finds errors.
    """
    if not any(each.parameters and each.kind in STANDARD for each in compilation.logical.operators):
        return compilation
    # loads the code of operators, which most applications that are only compiled do without
    from streams_orchestration.compiler.checking.checking import check_parameters

    diagnostics = (*compilation.diagnostics, *check_parameters(compilation))
    if errors_of(diagnostics):
        raise ApplicationError(diagnostics)
    return replace(compilation, diagnostics=diagnostics)
