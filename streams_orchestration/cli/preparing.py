"""Steps before an application is started: compile it, check that it can run here, and lock its start."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from streams_orchestration.cli.catalogs import upgrade_catalog
from streams_orchestration.cli.compiling import compile_unchecked
from streams_orchestration.cli.messages import detail, note, report_diagnostics, warning
from streams_orchestration.compiler.checking.checked import with_findings_of_operators
from streams_orchestration.compiler.checking.deployable import Deployable, Identified, deployable, identified
from streams_orchestration.compiler.compilation import CompileError
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.compiler.reading import ReadSpec
from streams_orchestration.compiler.redeployment.kept_options import fit
from streams_orchestration.model.secrets import without_secrets
from streams_orchestration.runtime import api


def upgrade_and_compile(catalog: api.Catalog, read: ReadSpec, given: GivenOptions, request: api.Request) -> Identified:
    """Upgrade an older catalog, and compile an application for a request.

    An application that continues from its state keeps the options of its deployment, if this version of the product can
    read them.

    Raises:
        CatalogError: the catalog cannot be read or upgraded.
        ApplicationError: the application has errors.
    """
    upgrade_catalog(catalog)
    continues = isinstance(request, api.ContinueFromState)
    return compile_to_run(
        read, given, api.read_deployed_options(catalog, given.options.name or read.name) if continues else None
    )


def compile_to_run(read: ReadSpec, given: GivenOptions, kept: Options | None = None) -> Identified:
    """Compile an application that is to run, with options kept from its deployment.

    Args:
        read: the spec.
        given: the options that the user gave.
        kept: the options to keep where the user gave none; None if no options are kept.

    Raises:
        ApplicationError: the application has errors; they include those that its operators find themselves.
    """
    options = given.options if kept is None else _fit_and_report(read, given, kept)
    try:
        return identified(compile_unchecked(read, options))
    except CompileError as error:
        raise with_findings_of_operators(error, deploys=True) from error


def _fit_and_report(read: ReadSpec, given: GivenOptions, kept: Options) -> Options:
    """Fit the kept options to the spec, print the outcome, and return them with the options that the user gave.

    The user's options override kept ones. Kept options that do not fit are left out with a warning; if all fit, a note
    names the ones that are used.
    """
    application, fitted = given.options.name or read.name, fit(read, kept, given.over)
    for remark in fitted.remarks:
        warning(f"{application}: {remark}.")
    words = " ".join(kept_words(fitted.options, given.options))
    if words and not fitted.remarks:  # a warning has named the options that are left out
        note(f"{application}: using the options of its deployment: {words}")
    return fitted.options


def kept_words(options: Options, given: Options) -> Iterator[str]:
    """Yield the kept options, which the user did not give, as words of a command line; secrets are masked."""
    for name, value in without_secrets(options.submission).items():
        if name not in given.submission:
            yield shlex.quote(f"--set={name}={value}")
    for pattern, width in options.widths:
        if (pattern, width) not in given.widths:
            yield shlex.quote(f"--width={pattern}={width}")
    for field, document in (("profile", options.profile), ("decoupling", options.decoupling)):
        if document is not None and getattr(given, field) is None:
            yield f"--{field}=..."
    for field in ("fusion", "pes", "pe_capacity", "channel_fusion", "threading", "faithful"):
        value = getattr(options, field)
        if value != getattr(given, field):
            yield f"--{field.replace('_', '-')}" + ("" if value is True else f"={value}")


@contextmanager
def usage_errors() -> Generator[None]:
    """Raise UsageError if the block raises RequestError, since the options of the command cannot be combined."""
    try:
        yield
    except api.RequestError as error:
        message = f"{error}."
        raise click.UsageError(message, click.get_current_context()) from error


def run_words(spec: Path, options: Options) -> str:
    """Return the `streams run` command that continues the deployed application, with its name but no other option."""
    name = "" if options.name is None else f" --name {options.name}"
    return f"streams run {shlex.quote(str(spec))}{name}"


def check_and_report(compiled: Identified) -> Deployable:
    """Check that a compiled application can run here, print its warnings, and return it as deployable.

    Raises:
        ApplicationError: something keeps the application from running here.
    """
    wanted = deployable(compiled)
    report_diagnostics(wanted.compilation.diagnostics)
    return wanted


def take_start_lock(home: api.Home, application: str, command: str) -> api.StartLock:
    """Take the start lock of an application for this process; report a wait for another one, and a missing package.

    Raises:
        BeingStartedError: another process holds the lock for too long.
        StateDirectoryError, CatalogError: the lock file cannot be written, or the database cannot be reached.
    """

    def waiting(starter: api.Starter | None) -> None:
        note(f"{application} is being started by {starter or 'another process'}; waiting for it ...")

    if problem := api.explain_missing_client():
        warning(problem)
    return api.lock_start(home, application, command, waiting=waiting)


@contextmanager
def lock_and_stop_orphans(catalog: api.Catalog, application: str, command: str) -> Generator[api.StartLock]:
    """Lock the start of an application for the block, and stop and report processes that lost hosts have left.

    `Start.launch` releases the lock early, so that the block may follow the application.

    Raises:
        BeingStartedError: another process holds the lock for too long.
        StateDirectoryError, CatalogError: the state directory cannot be used.
    """
    with take_start_lock(catalog.home.prepare(), application, command) as lock:
        detail(f"State directory {catalog.home.root}, catalog {catalog.name}")
        for orphan in api.stop_orphans(catalog, application):
            note(str(orphan))
        yield lock
