"""`streams compile`, and the way from a spec to a compilation that other commands go too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streams_orchestration.cli.failing import APPLICATION, report_diagnostics
from streams_orchestration.cli.options import compile_options, format_option, output_option, spec_argument, write_output
from streams_orchestration.compiler.options import Options

if TYPE_CHECKING:
    from streams_orchestration.compiler.compilation import Compilation


@click.command("compile")
@spec_argument
@compile_options
@format_option
@output_option
def compile_(spec: Path, options: Options, format_: str, output: Path | None) -> int:
    """Compile an application and show the plan; nothing is run."""
    from streams_orchestration.compiler.compiling import uncollected
    from streams_orchestration.compiler.plan import compile_error_document, plan_text
    from streams_orchestration.model.diagnostics import ApplicationError

    try:
        compilation = check(spec, options, deployable=False)
    except ApplicationError as error:
        report_diagnostics(error.diagnostics)
        if format_ == "json":
            write_output(_json(compile_error_document(_name(spec), error.diagnostics)), output)
        return APPLICATION
    report_diagnostics(compilation.diagnostics)
    if format_ == "json":
        with uncollected():
            write_output(plan_text(compilation), output)
    else:
        from streams_orchestration.cli.summary import summary
        from streams_orchestration.cli.terminal import rendered

        write_output(rendered(summary(compilation), colour=output is None and sys.stdout.isatty()), output)
    return 0


def check(spec: Path, options: Options, *, deployable: bool) -> Compilation:
    """Compile, and check what only the operators know.

    Args:
        spec: path of the spec.
        options: of the compiler.
        deployable: it is to run here, so whatever keeps an operator from that is an error.

    Raises:
        ApplicationError: the application has errors.
    """
    from dataclasses import replace

    from streams_orchestration.compiler.compiling import compile_spec
    from streams_orchestration.model.diagnostics import ApplicationError
    from streams_orchestration.operators.standard import STANDARD

    compilation = compile_spec(spec, options)
    diagnostics = compilation.diagnostics
    if deployable or any(each.parameters and each.kind in STANDARD for each in compilation.logical.operators):
        # imported only when there is something to check
        from streams_orchestration.compiler.checking.checking import check_operators, check_parameters

        diagnostics = (*diagnostics, *(check_operators if deployable else check_parameters)(compilation))
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise ApplicationError(diagnostics)
    return replace(compilation, diagnostics=diagnostics)


def compiled(spec: Path, options: Options, *, deployable: bool = False) -> Compilation:
    """As `check`; warnings go to standard error."""
    compilation = check(spec, options, deployable=deployable)
    report_diagnostics(compilation.diagnostics)
    return compilation


def _name(spec: Path) -> str:
    """What a broken spec calls its application, or else its file."""
    from streams_orchestration.model.loading import read_application

    application, _ = read_application(spec)
    return application.application if application is not None else spec.stem


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
