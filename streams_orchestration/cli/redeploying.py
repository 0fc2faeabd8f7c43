"""`streams redeploy`: deploy again, preview that, or restore the previous plan."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import click

from streams_orchestration.cli.deploying import start_in_background
from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current, write_json
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.messages import note, report_diagnostics
from streams_orchestration.cli.observing import status_document
from streams_orchestration.cli.preparing import (
    check_and_report,
    compile_to_run,
    lock_and_stop_orphans,
    run_words,
    usage_errors,
)
from streams_orchestration.cli.redeploy_table import outcome_table
from streams_orchestration.cli.start import Start
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.runtime import api


def redeploy_or_revert(
    spec: Path | str,
    given: GivenOptions,
    drop_state: tuple[str, ...],
    within: float,
    *,
    fresh: bool,
    dry_run: bool,
    revert: bool,
) -> int:
    """Deploy again with the deployed options, or preview or revert a redeploy; return the exit status.

    An application that is not deployed, or that begins `fresh`, is started as by `streams deploy`. If another process
    has changed the deployed options before the start lock is taken, the application is compiled again with them. The
    status is 1 if the new plan was reverted, or if a preview loses state that `drop_state` does not name.

    Raises:
        UsageError: the options cannot be combined.
        JavaError: this machine has no Java that Spark can use.
        ApplicationError, StreamsRuntimeError: the application has errors, or the redeploy is refused.
        OSError: with `fresh`, a published result cannot be removed.
    """
    with usage_errors():
        request = api.build_request(fresh=fresh, replace=True, revert=revert, drop_state=drop_state, within=within)
    if isinstance(request, api.Revert):
        return _revert(spec, given, request, dry_run=dry_run)
    if fresh and dry_run:
        message = "--fresh drops all state, so it cannot be combined with --dry-run."
        raise click.UsageError(message, click.get_current_context())
    catalog, read = api.Catalog(api.Home.default()), read_application(spec)
    kept = api.read_deployed_options(catalog, given.options.name or read.name)
    wanted = check_and_report(compile_to_run(read, given, kept))
    if dry_run:
        return _show_preview(catalog, wanted, drop_state, run_words(read.path, given.options))
    api.require_java()
    with lock_and_stop_orphans(catalog, wanted.name, "streams redeploy") as lock:
        if (newest := api.read_deployed_options(catalog, wanted.name)) != kept:  # another redeploy was awaited
            wanted = check_and_report(compile_to_run(read, given, newest))
        start = Start(catalog, lock, wanted, request, read.path)
        before = api.read_status_if_deployed(catalog, wanted.name)
        if fresh or before is None:
            return start_in_background(start, before)
        return _redeploy(start)


def _show_preview(catalog: api.Catalog, wanted: Deployable, drop_state: Collection[str], again: str) -> int:
    """Show the effects that a redeploy would have; return the exit status.

    The status is 1 if state would be lost or the redeploy refused, or if there is nothing to redeploy since the
    application is complete.

    Args:
        catalog: the catalog.
        wanted: the application with the new plan.
        drop_state: the operators whose state may be lost.
        again: the command that runs the application, for a hint.
    """
    api.require_deployed(catalog, wanted.name)
    outcome = api.preview_redeploy(catalog, wanted, drop_state)
    if current().json:
        write_json(outcome.document())
    else:
        write_table(outcome_table(outcome), None)
    status = api.read_status_if_deployed(catalog, wanted.name)
    if outcome.verdict != "unchanged" and status is not None and status.state == "COMPLETED":
        note(f"{wanted.name} is complete, so there is nothing to redeploy. `{again} --fresh` starts over.")
        return APPLICATION
    return 0 if outcome.acceptable else APPLICATION


def _redeploy(start: Start) -> int:
    """Replace the deployed plan by another one, record that in Dagster, and show it; return the exit status."""
    note(f"Redeploying {start.name} ...")
    try:
        outcome = start.launch(note).redeployment
    except api.RevertedError as error:
        return _show_outcome(start.catalog, start.name, error.redeployment, error)
    start.await_running_and_recording(note)
    return _show_outcome(start.catalog, start.name, outcome)


def _revert(spec: Path | str, given: GivenOptions, request: api.Revert, *, dry_run: bool) -> int:
    """Restore the previous plan: at its cut while the new plan is on trial, otherwise by another redeploy.

    Return the exit status. With `dry_run` only show the effects. Dagster shows the redeploy.
    """
    if given != GivenOptions(Options(name=given.options.name)):
        message = "--revert restores the previous plan with its options. Remove the other options."
        raise click.UsageError(message, click.get_current_context())
    name = given.options.name or (spec if isinstance(spec, str) else read_application(spec).name)
    current().application = name
    catalog = api.open_catalog(api.Home.default(), name)
    if (dry_run or request.drop_state) and api.is_redeploy_on_trial(catalog, name):
        message = f"the redeploy of {name} is on trial: --revert loses nothing now. Remove the other options."
        raise click.UsageError(message, click.get_current_context())
    if dry_run:
        previous = api.recompile_previous_plan(catalog, name)
        report_diagnostics(previous.compilation.diagnostics)
        return _show_preview(catalog, previous, request.drop_state, f"streams run SPEC --name {name}")
    if api.end_trial_by_hand(catalog, name):
        return _show_ended_trial(catalog, name)
    api.require_java()
    with lock_and_stop_orphans(catalog, name, "streams redeploy") as lock:
        previous = api.recompile_previous_plan(catalog, name)
        report_diagnostics(previous.compilation.diagnostics)
        return _redeploy(Start(catalog, lock, previous, request, spec))


def _show_ended_trial(catalog: api.Catalog, name: str) -> int:
    """Show the status of an application whose trial was ended by hand; return the exit status, 0."""
    status = api.read_status(catalog, name)
    facts = {"reverted": api.BY_HAND, "state": status.shown_state, "status": status_document(catalog, status)}
    return answer(lambda: facts, f"{name} is {status.shown_state}, with the previous plan.")


def _show_outcome(
    catalog: api.Catalog, name: str, outcome: Redeployment | None, reverted: api.RevertedError | None = None
) -> int:
    """Show the outcome of a redeploy; return the exit status, 1 if it was reverted.

    Args:
        catalog: the catalog.
        name: the name of the application.
        outcome: the redeploy; None if another process has removed the application before, so that it begins.
        reverted: the error of a new plan that has failed its trial.
    """
    status = api.read_status(catalog, name)
    facts = ({} if outcome is None else outcome.document()) | {
        "reverted": None if reverted is None else reverted.cause,
        "state": status.shown_state,
        "status": status_document(catalog, status),
    }
    if reverted is not None:
        show_error(str(reverted))
        return answer(lambda: facts, status=APPLICATION, error=str(reverted))
    paused = ""
    if outcome is not None:
        if not current().json:
            write_table(outcome_table(outcome), None)
        if outcome.measured_seconds is not None:
            paused = f" Changed units paused for {outcome.measured_seconds:.1f} s."
    return answer(lambda: facts, f"{name} is {status.shown_state}.{paused}")
