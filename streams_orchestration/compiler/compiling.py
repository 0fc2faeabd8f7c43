"""Compiling: runs all stages on an application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streams_orchestration.compiler.compilation import Compilation, CompileError, PlannedCompilation, Progress
from streams_orchestration.compiler.misleading import ALL, in_doubt, misled, trusted
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import ReadSpec, read_application
from streams_orchestration.compiler.stage import Stage
from streams_orchestration.compiler.stages import STAGES, WITHOUT_DEPLOYMENT
from streams_orchestration.model.application import Application
from streams_orchestration.model.collector import uncollected
from streams_orchestration.model.declarations import check_declarations
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of, in_order
from streams_orchestration.model.scopes import check_names


def compile_application(application: Application, options: Options | None = None) -> PlannedCompilation:
    """Run all stages, by default with the default options.

    Raises:
        ApplicationError: the application has errors; every stage that could still be run has reported its errors.
    """
    checked = [*check_names(application), *check_declarations(application)]
    return _compile(application, options or Options(), tuple(dict.fromkeys(checked)), STAGES).planned


def compile_spec(path: str | Path, options: Options | None = None) -> PlannedCompilation:
    """Read a spec and run all stages, so that errors of the text and of the graph are reported together.

    Raises:
        ApplicationError: the spec cannot be read, or has errors.
    """
    return compile_read(read_application(path), options)


def compile_read(read: ReadSpec, options: Options | None = None) -> PlannedCompilation:
    """Compile a spec that was read already, by default with the default options; see `compile_spec`.

    Raises:
        ApplicationError: the spec could not be read, or has errors.
    """
    return _compile(read.application, options or Options(), read.diagnostics, STAGES).planned


def compile_without_plan(read: ReadSpec, options: Options) -> Compilation:
    """Compile a spec that was read already, without the deployment stage, which imports the operators' code.

    Raises:
        ApplicationError: the spec could not be read, or has errors.
    """
    return _compile(read.application, options, read.diagnostics, WITHOUT_DEPLOYMENT).compilation


def recompile(compilation: Compilation) -> PlannedCompilation:
    """Run all stages after the logical graph again.

    A compilation that was read from a store gets a deployment plan and the numbers of a fresh compilation this way. It
    has only the warnings of these stages, and no query columns.

    Raises:
        ApplicationError: this version of the product finds errors in it.
    """
    done = Progress(compilation.options).with_result(compilation.logical)
    diagnostics: list[Diagnostic] = []
    for stage in STAGES[1:]:
        done, more = compute(stage, done)
        diagnostics += more
        if errors_of(more):
            raise CompileError(in_order(diagnostics), done)
    return replace(done, diagnostics=in_order(diagnostics)).planned


def compute(stage: Stage, done: Progress) -> tuple[Progress, list[Diagnostic]]:
    """Run one stage; return the results with its own added, and its findings.

    Raises:
        ValueError: a stage whose result it reads has not run.
    """
    result, diagnostics = stage.compute(done)
    return done.with_result(result), [replace(each, stage=stage.name) for each in diagnostics]


def broken_conditions(compilation: PlannedCompilation) -> str | None:
    """Return a message about the conditions that results of stages do not meet; None if all are met."""
    done = compilation.progress
    broken = [f"{stage.name}: {each}" for stage in STAGES for each in stage.invariant(done)]
    if not broken:
        return None
    return f"a compiled stage did not pass its check ({'; '.join(broken)}); report this bug with the spec"


@uncollected()
def _compile(
    application: Application | None, options: Options, checked: Sequence[Diagnostic], stages: tuple[Stage, ...]
) -> Progress:
    """Run the stages, and drop findings that could be mere effects of an error.

    Stop as soon as an error makes the findings of all remaining stages doubtful.

    Args:
        application: the application, without the parts in error; None if it could not be read.
        options: the options of the compiler.
        checked: the errors and warnings on its text, names and declarations.
        stages: the stages to run.
    """
    if application is None:
        raise ApplicationError(checked)
    diagnostics = list(checked)
    wrong = misled(checked)
    done = Progress(options).with_result(application)
    for number, stage in enumerate(stages):
        errors = bool(errors_of(diagnostics))
        if errors and all(in_doubt(later.subject, wrong, errors=errors) for later in stages[number:]):
            break
        done, more = compute(stage, done)
        diagnostics += trusted(more, stage.subject, wrong)
        if any(each.code == "SO0501" for each in more) or (stage.decisive and errors_of(more)):
            wrong = ALL
    if errors_of(diagnostics):
        raise CompileError(in_order(diagnostics), done)
    return replace(done, diagnostics=in_order(diagnostics))
