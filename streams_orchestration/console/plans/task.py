"""One compilation for a page: its task and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.compiler.checking.checked import checked
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import Compilation, PlannedCompilation
from streams_orchestration.compiler.compiling import compile_read
from streams_orchestration.compiler.documents import dump
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import ReadSpec, read_application
from streams_orchestration.compiler.redeployment.comparison import compare
from streams_orchestration.compiler.redeployment.kept_options import FittedOptions, fit, options_of
from streams_orchestration.compiler.redeployment.numbered import as_deployed
from streams_orchestration.console.plans.choices import Choices, controls
from streams_orchestration.console.plans.documents import (
    comparison_document,
    diagnostics_document,
    redeploy_document,
    stages_document,
)
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.operators.implementations.implementation import ImplementationError
from streams_orchestration.runtime import api

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A compilation that a page requests."""

    spec: Path
    """Path of the spec, as named on the command line of the console."""
    home: Path
    """Path of the state directory."""
    options: Options | None
    """Options of the command line; None to take the options of the deployed application, or the defaults."""
    choices: Choices
    before: Choices | None
    """Choices to compare with; None for no comparison."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a compilation for a page."""

    document: Document
    compilation: str | None = None
    """The compilation as JSON, with the PE numbers of the deployed plan; None if the spec has errors."""


def answer(task: PlanRequest) -> Answer:
    """Compile a spec, and compare its plan with the earlier choices and the deployment; deploy nothing.

    Errors of the spec are in the document. Earlier choices that do not compile are not compared.

    Raises:
        ChoiceError: a choice is not possible.
    """
    spec = read_application(task.spec)
    application = spec.application
    if application is None:
        return Answer({"application": None, "deployed": False, "diagnostics": diagnostics_document(spec.diagnostics)})
    home = api.Home(task.home)
    name = (task.options and task.options.name) or spec.name
    deployed = api.read_compilation_if_readable(api.Catalog(home), name)
    base = _base(task, spec, deployed)
    now = task.choices.options(base.options, application)
    document: Document = {"application": name, "deployed": deployed is not None, "notes": base.remarks}
    try:
        compilation = checked(compile_read(spec, now))
    except ApplicationError as error:
        diagnosed = diagnostics_document(error.diagnostics)
        return Answer(document | {"diagnostics": diagnosed, "controls": controls(application, now, None)})
    options = None if task.before is None else task.before.options(base.options, application)
    before = None if options is None or options == now else _compiled(spec, options)
    shown = as_deployed(compilation, deployed)
    document |= {
        "diagnostics": diagnostics_document(compilation.diagnostics),
        "controls": controls(application, now, compilation.logical.regions),
        "stages": stages_document(shown, None if before is None else as_deployed(before, deployed)),
    }
    if before is not None and options is not None:
        document["comparison"] = _comparison(before, compilation, deployed, options, now)
    if deployed is not None:
        document["redeploy"] = _redeploy(home, compilation)
    return Answer(document, dump(shown).decode())


def _base(task: PlanRequest, spec: ReadSpec, deployed: Compilation | None) -> FittedOptions:
    """Return the options without any choice, with remarks on deployed options that no longer fit the spec."""
    if task.options is not None:
        return FittedOptions(task.options)
    return FittedOptions(Options()) if deployed is None else fit(spec, options_of(deployed))


def _compiled(spec: ReadSpec, options: Options) -> PlannedCompilation | None:
    try:
        return compile_read(spec, options)
    except ApplicationError:
        return None


def _comparison(
    before: PlannedCompilation,
    now: PlannedCompilation,
    deployed: Compilation | None,
    options: Options,
    chosen: Options,
) -> Document:
    try:
        return comparison_document(compare(before, now, as_deployed(before, deployed)), options, chosen)
    except ImplementationError as error:
        return {"error": str(error)}


def _redeploy(home: api.Home, compilation: PlannedCompilation) -> Document:
    """Return the preview of a redeploy with this compilation, or the errors that prevent it."""
    try:
        wanted = deployable(compilation)
        return redeploy_document(api.preview_redeploy(api.open_catalog(home, wanted.name), wanted))
    except ApplicationError as error:
        return {"diagnostics": diagnostics_document(error.diagnostics)}
    except (api.StreamsRuntimeError, ImplementationError) as error:
        return {"error": str(error)}
