"""`streams compile`, and functions by which all commands get from a spec to a compilation."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import current, write_json, write_output
from streams_orchestration.cli.messages import detail, note, report_diagnostics
from streams_orchestration.cli.summary import summary
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.compiler.checking.checked import checked, with_findings_of_operators
from streams_orchestration.compiler.checking.left_out import left_out
from streams_orchestration.compiler.compilation import CompileError, PlannedCompilation
from streams_orchestration.compiler.compiling import compile_read, compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import compile_error_document, plan_text
from streams_orchestration.compiler.reading import ReadSpec, read_application
from streams_orchestration.model.brief import plural
from streams_orchestration.model.collector import uncollected
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.runtime import api


def compile_application(spec: Path, options: Options, format_: str, output: Path | None) -> int:
    """Compile an application and show the plan, or report its errors; return the exit status, 1 for errors.

    A note names checks that only `streams check` makes. Raises BadParameter if `output` cannot be written.
    """
    read = read_application(spec)
    try:
        compilation = compile_with_checked_parameters(read, options)
    except ApplicationError as error:
        report_diagnostics(error.diagnostics)
        if format_ == "json":
            write_json(compile_error_document(read.name, error.diagnostics), output)
        return APPLICATION
    report_diagnostics(compilation.diagnostics)
    if format_ == "json":
        with uncollected():
            write_output(plan_text(compilation), output)
    else:
        write_table(summary(compilation), output)
    if parts := list(left_out(compilation.logical)):
        same = "" if options == Options() else " with the same options"
        note(f"Not checked: {'; '.join(parts)}. `streams check {shlex.quote(str(spec))}`{same} does that.")
    return 0


def compile_with_checked_parameters(read: ReadSpec, options: Options) -> PlannedCompilation:
    """Compile a spec, and check the parameters of its standard operators.

    Raises:
        ApplicationError: the application has errors.
    """
    try:
        return checked(compile_unchecked(read, options))
    except CompileError as error:
        raise with_findings_of_operators(error, deploys=False) from error


def compile_and_report(read: ReadSpec, options: Options) -> PlannedCompilation:
    """Compile and check a spec as `compile_with_checked_parameters` does, and print warnings to standard error.

    Raises:
        ApplicationError: the application has errors.
    """
    compilation = compile_with_checked_parameters(read, options)
    report_diagnostics(compilation.diagnostics)
    return compilation


def as_it_runs(compilation: PlannedCompilation) -> PlannedCompilation:
    """Return the compilation with the PE numbers of the deployed application, as `streams status` shows them.

    The result also has the columns of queries that Spark found at the deployment. If the application is not deployed,
    or its plan cannot be read, nothing changes.

    Raises:
        StorageSettingError: the catalog's files are in another place than STREAMS_STORAGE says.
    """
    from streams_orchestration.compiler.redeployment.numbered import as_deployed

    deployed = api.read_compilation_if_readable(api.Catalog(api.Home.default()), compilation.logical.application)
    return compilation if deployed is None else as_deployed(compilation, deployed).with_columns_of(deployed)


def compile_unchecked(read: ReadSpec, options: Options) -> PlannedCompilation:
    """Compile a spec without the checks that operators make themselves, since these load the operators' code.

    The application's name is noted for the command's JSON document.

    Raises:
        ApplicationError: the application has errors.
    """
    current().application = options.name or read.name
    started = time.perf_counter()
    compilation = compile_read(read, options)
    operators = plural(len(compilation.physical.operators), "operator")
    pes = plural(len(compilation.fusion.pes), "PE")
    detail(f"{read.path}: {operators} in {pes}, compiled in {time.perf_counter() - started:.2f} s")
    return compilation


def operator_names(spec: Path) -> tuple[str, ...]:
    """Return the logical names of the operators of a spec, sorted; none if it does not compile."""
    try:
        return tuple(sorted(each.name for each in compile_spec(spec).logical.operators))
    except ApplicationError:
        return ()
