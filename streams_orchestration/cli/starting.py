"""Steps before an application is started: compile it, check that it can run here, and lock its start."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from streams_orchestration.cli.catalogs import upgrade_catalog
from streams_orchestration.cli.compiling import compiled_unchecked
from streams_orchestration.cli.messages import detail, note, report_diagnostics, warning
from streams_orchestration.compiler.checking.deployable import Deployable, deployable, with_findings_of_operators
from streams_orchestration.compiler.compilation import Compilation, CompileError
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.compiler.reading import ReadSpec
from streams_orchestration.compiler.redeployment.kept_options import fitting
from streams_orchestration.model.secrets import without_secrets
from streams_orchestration.runtime import api


def options_to_keep(home: api.Home, application: str) -> Options | None:
    """Return the options with which an application is deployed; an older catalog is upgraded first.

    None if nothing is deployed under this name, or another version of the product compiled it.

    Raises:
        CatalogError: the catalog cannot be read or upgraded.
    """
    upgrade_catalog(home)
    return api.deployed_options(home, application)


def compiled_with_kept_options(read: ReadSpec, given: GivenOptions, kept: Options | None = None) -> Compilation:
    """Compile an application that is to run, with options kept from its deployment.

    Args:
        read: the spec.
        given: the options that the user gave.
        kept: the options to keep where the user gave none; None if no options are kept.

    Raises:
        ApplicationError: the application has errors; they include those that its operators find themselves.
    """
    application = given.options.name or read.name
    options = given.options
    if kept is not None:
        options, left_out = fitting(read, kept, given.over)
        for each in left_out:
            warning(f"{application}: {each}.")
        words = " ".join(kept_words(options, given.options))
        if words and not left_out:  # a warning has named the options that are left out
            note(f"{application}: using the options of its deployment: {words}")
    try:
        return compiled_unchecked(read, options)
    except CompileError as error:
        raise with_findings_of_operators(error) from error


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


def run_words(spec: Path, options: Options) -> str:
    """Return the `streams run` command that continues the deployed application."""
    name = "" if options.name is None else f" --name {options.name}"
    return f"streams run {shlex.quote(str(spec))}{name}"


def checked_to_run(compilation: Compilation, identity: str | None = None) -> Deployable:
    """Check that the application can run here, print its warnings to standard error, and return it as deployable.

    Args:
        compilation: the compiled application.
        identity: its fingerprint, if the caller has computed that; None otherwise.

    Raises:
        ApplicationError: something keeps the application from running here.
    """
    wanted = deployable(compilation, identity)
    report_diagnostics(wanted.compilation.diagnostics)
    return wanted


def locked_start(home: api.Home, application: str, command: str) -> api.StartLock:
    """Lock the start of an application for this process; report a wait for another process, and a missing package.

    Raises:
        BeingStartedError: another process holds the lock for too long.
    """

    def waiting(starter: api.Starter | None) -> None:
        note(f"{application} is being started by {starter or 'another process'}; waiting for it ...")

    if problem := api.missing_client():
        warning(problem)
    return api.lock_start(home, application, command, waiting=waiting)


@contextmanager
def ready_to_start(home: api.Home, application: str, command: str) -> Generator[api.StartLock]:
    """Lock the start of an application, upgrade an older catalog, and stop processes that lost hosts have left.

    Raises:
        BeingStartedError: another process holds the lock for too long.
        StateDirectoryError, CatalogError: the state directory cannot be used.
    """
    with locked_start(home.prepare(), application, command) as lock:
        detail(f"State directory {home.root}, catalog {api.Catalog(home).name}")
        upgrade_catalog(home)
        stop_orphans(home, application)
        yield lock


def stop_orphans(home: api.Home, application: str) -> None:
    """Stop the processes of hosts that are no longer wanted, and report them."""
    for orphan in api.stop_orphans(home, application):
        note(str(orphan))
