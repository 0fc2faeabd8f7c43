"""`streams deploy`, `cancel` and `reset`: commands that act on an application and end, without following it."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.observing import status_document
from streams_orchestration.cli.preparing import (
    check_and_report,
    lock_and_stop_orphans,
    upgrade_and_compile,
    usage_errors,
)
from streams_orchestration.cli.recording import record_cancel, record_reset
from streams_orchestration.cli.restoring import restored_facts
from streams_orchestration.cli.start import Start
from streams_orchestration.compiler.options import GivenOptions
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.runtime import api

RESET_SECONDS = 180.0
"""Seconds until the PEs of a unit must work after a reset, as in Dagster's job."""


def deploy_in_background(
    spec: Path, given: GivenOptions, savepoint: str | None, drop_state: tuple[str, ...], *, fresh: bool
) -> int:
    """Compile an application and start it in the background; return the exit status.

    Raises:
        UsageError: `drop_state` is given without `savepoint`.
        JavaError: this machine has no Java that Spark can use.
        ApplicationError, StreamsRuntimeError, OSError: the application has errors, or cannot be started here; see
            `start_in_background`.
    """
    with usage_errors():
        request = api.build_request(savepoint=savepoint, fresh=fresh, drop_state=drop_state)
    catalog, read = api.Catalog(api.Home.default()), read_application(spec)
    wanted = check_and_report(upgrade_and_compile(catalog, read, given, request))
    api.require_java()
    with lock_and_stop_orphans(catalog, wanted.name, "streams deploy") as lock:
        before = api.read_status_if_deployed(catalog, wanted.name)
        return start_in_background(Start(catalog, lock, wanted, request, read.path), before)


def start_in_background(start: Start, before: api.ApplicationStatus | None) -> int:
    """Launch a compiled application, wait until its PEs run, and record the deployment in Dagster.

    Return the exit status, 0. The start lock is released when the hosts are launched.

    Args:
        start: the start of the application.
        before: the status under the start lock; None if the application is not deployed.

    Raises:
        StreamsRuntimeError, ApplicationError: the application cannot be deployed, or its PEs do not run in time.
        OSError: the state is to be dropped, and a published result cannot be removed.
    """
    catalog, name = start.catalog, start.name
    ran = before is not None and before.shown_state == "RUNNING"
    if not ran:
        note(f"Starting {name} ...")
    restored = start.launch(note).restored
    start.await_running_and_recording(note)
    facts = {} if restored is None else restored_facts(restored)
    status = api.read_status(catalog, name)
    state = f"was {status.shown_state} already" if ran else f"is {status.shown_state}"
    text = f"{name} {state}. `streams status {name}` shows it, `streams cancel {name}` stops it."
    return answer(lambda: {**facts, "state": status.shown_state, "status": status_document(catalog, status)}, text)


def cancel(application: str, timeout: float) -> int:
    """Stop an application and keep its state; return the exit status, 0.

    A host that has not ended after `timeout` seconds is killed.

    Raises:
        NotDeployedError: the application is not deployed.
    """
    current().application = application
    catalog = api.open_catalog(api.Home.default(), application)
    api.require_deployed(catalog, application)
    for orphan in api.cancel_application(catalog, application, timeout):
        note(str(orphan))
    record_cancel(catalog, application)
    status = api.read_status(catalog, application)
    return answer(
        lambda: {"state": status.shown_state, "status": status_document(catalog, status)},
        f"{application} is {status.shown_state}.",
    )


def reset(application: str, unit: str | None, *, force: bool) -> int:
    """Reset one unit, or all failed units, to the last complete epoch; return the exit status.

    A unit that is complete or cannot be reset is reported, the others are reset, and the exit status is 1. Before that,
    the command waits until it is known if hosts on silent machines live.

    Raises:
        NotDeployedError: the application is not deployed.
        NothingFailedError: no unit is named, and none has failed.
    """
    current().application = application
    catalog = api.open_catalog(api.Home.default(), application)
    api.await_silent_machines(catalog, application, note)
    status = api.read_status(catalog, application)
    units = (unit,) if unit else api.find_failed_units(status, api.now())
    outcomes: list[dict[str, str | bool | None]] = []
    lines: list[str] = []
    refused: list[str] = []
    for name in units:
        try:
            _require_incomplete(status, name)
            _reset_and_record(catalog, application, name, force=force)
        except api.StreamsRuntimeError as error:
            refused.append(str(error))
            outcomes.append({"unit": name, "reset": False, "error": str(error)})
        else:
            lines.append(f"{application}: {name} continues from its last complete epoch.")
            outcomes.append({"unit": name, "reset": True, "error": None})
    error = "\n".join(refused) or None
    if error is not None:
        show_error(error)
    status = api.read_status(catalog, application)
    return answer(
        lambda: {"state": status.shown_state, "units": outcomes, "status": status_document(catalog, status)},
        "\n".join(lines),
        status=APPLICATION if refused else 0,
        error=error,
    )


def _reset_and_record(catalog: api.Catalog, application: str, unit: str, *, force: bool) -> None:
    """Reset a unit, wait until its PEs work again, and record that in Dagster."""
    units = api.read_status(catalog, application).units
    before = next((each.generation for each in units if each.name == unit), 0)  # an unknown unit is refused below
    api.reset_unit(catalog, application, unit, generation=before, force=force)
    api.await_reset(catalog, application, unit, before, RESET_SECONDS, note)
    record_reset(catalog, application, unit, before)


def _require_incomplete(status: api.ApplicationStatus, unit: str) -> None:
    """Raise StreamsRuntimeError if a unit is complete, since it cannot be reset then."""
    states = {pe.state for pe in status.pes if pe.unit == unit}
    if states == {"COMPLETED"}:
        message = (
            f"{status.application}: {unit} is complete, so there is nothing to reset. "
            "`streams run SPEC --fresh` computes everything from the beginning."
        )
        raise api.StreamsRuntimeError(message)
