"""`streams run`: compile, deploy, follow, show the result."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.late_sinks import undelivered
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.metrics import losses
from streams_orchestration.cli.observing import status_document
from streams_orchestration.cli.preparing import (
    check_and_report,
    lock_and_stop_orphans,
    run_words,
    upgrade_and_compile,
    usage_errors,
)
from streams_orchestration.cli.terminal import results
from streams_orchestration.compiler.checking.deployable import Deployable, Identified
from streams_orchestration.compiler.options import GivenOptions
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.runtime import api


def run(
    spec: Path,
    given: GivenOptions,
    max_rows: int,
    savepoint: str | None,
    drop_state: tuple[str, ...],
    *,
    fresh: bool,
    available_now: bool,
) -> int:
    """Compile an application, run it until its input or the available data end, and show its result.

    Return the exit status. A complete application without more input is not run; its result is shown.

    Raises:
        UsageError: `drop_state` is given without `savepoint`.
        JavaError: this machine has no Java that Spark can use.
        ApplicationError, StreamsRuntimeError: the application has errors, or cannot be run here.
        OSError: with `fresh`, a published result cannot be removed.
    """
    kind = api.RunKind(available_now=available_now, reopens=True)
    with usage_errors():
        request = api.build_request(savepoint=savepoint, fresh=fresh, drop_state=drop_state, run=kind)
    catalog = api.Catalog(api.Home.default())
    read = read_application(spec)
    again = run_words(spec, given.options)
    compiled = upgrade_and_compile(catalog, read, given, request)
    first = not catalog.home.root.exists() and catalog.version() is None
    # the start lock creates the state directory, and an application that cannot run leaves none
    checked = _check_here(compiled) if first else None
    with lock_and_stop_orphans(catalog, compiled.name, "streams run") as lock:
        continues = isinstance(request, api.ContinueFromState)
        before = api.read_status_to_continue(catalog, compiled) if continues else None
        if before is None or before.state != "COMPLETED" or _find_and_note_input(catalog, compiled.name):
            wanted = checked or _check_here(compiled)  # results are shown without Java and the code of operators
            if before is not None:
                note(_continuation(wanted.name, before))
            # loads the code that deploys, which a complete application does not need
            from streams_orchestration.cli.foreground import run_application
            from streams_orchestration.cli.start import Start

            after, interrupted = run_application(Start(catalog, lock, wanted, request, spec))
            return _show_end(catalog, after, again, max_rows, interrupted)
    note(f"{compiled.name} was complete already. `{again} --fresh` computes it from the beginning.")
    return _show_completed(catalog, before, max_rows)


def _check_here(compiled: Identified) -> Deployable:
    """Check that an application can run on this machine, and print its warnings."""
    wanted = check_and_report(compiled)
    api.require_java()
    return wanted


def _show_end(catalog: api.Catalog, after: api.ApplicationStatus, again: str, max_rows: int, interrupted: int) -> int:
    """Show how a run ended, with its results; return the exit status: 1 if another command stopped it.

    Args:
        catalog: the catalog.
        after: the status of the application at the end of the run.
        again: the command that continues the application.
        max_rows: the most rows of a result to show.
        interrupted: the exit status after an interrupt, else 0.
    """
    name = after.application
    if after.taken_at is not None:
        note(f"{name} has processed the available input. `{again} --available-now` continues after it.")
        return _show_completed(catalog, after, max_rows)
    if after.state == "STOPPED":
        for line in undelivered(after):
            note(line)
        how = "" if interrupted else " by another command"
        message = f"{name} is stopped{how}. `{again}` continues from {_point(after)}."
        note(message)
        status = interrupted or APPLICATION
        return answer(lambda: _facts(catalog, after), status=status, error=message)
    note(f"{name} is complete.")
    return _show_completed(catalog, after, max_rows)


def _continuation(name: str, before: api.ApplicationStatus) -> str:
    """Describe in words the point from which a deployed application continues, or its processes if it runs already."""
    alive = [host.process for host in before.hosts if host.alive]
    if before.state == "RUNNING" and alive:
        return f"{name} is already running ({', '.join(alive)}); following it."
    return f"{name}: continuing from {_point(before)}; `--fresh` would start over."


def _find_and_note_input(catalog: api.Catalog, application: str) -> bool:
    """Find out and print if sources of a complete application have more input than they had at its end.

    Return True if one has. If a source fails, print that this is unknown, and return False.
    """
    try:
        sources = api.find_sources_with_input(catalog, application)
    except Exception as error:  # noqa: BLE001 - the code of any source may fail
        note(f"It is not known whether {application} has more input, so it is not started: {error}")
        return False
    if sources:
        note(f"{application} was complete, and there is more input for {', '.join(sources)}.")
    return bool(sources)


def _point(status: api.ApplicationStatus) -> str:
    """Describe in words the point from which an application that does not run will continue."""
    epoch = min((unit.completed_epoch for unit in status.units), default=0)
    if epoch:
        return f"epoch {epoch}, the last complete one"
    return "its last commits, in the first epoch" if any(pe.row.batch >= 0 for pe in status.pes) else "the start"


def _facts(catalog: api.Catalog, status: api.ApplicationStatus) -> dict[str, Any]:
    return {"state": status.state, "status": status_document(catalog, status)}


def _show_completed(catalog: api.Catalog, status: api.ApplicationStatus, max_rows: int) -> int:
    """Show the results in the sinks of an application that has ended; return the exit status, 0.

    Notes name the sinks' files, dropped tuples and errors that operators have counted, and the logs.
    """
    # loads Polars, which nothing needs before a result exists
    from streams_orchestration.cli.results import read_result, result_document, result_table

    shown = [read_result(sink, max_rows) for sink in status.sinks]
    if not current().json:
        console = results()
        for result in shown:
            console.print(result_table(result))
    for sink in status.sinks:
        if sink.path is not None:
            note(f"Files of {sink.operator}: {sink.path}")
    for loss in losses(api.read_metrics(catalog, status.application)):
        note(f"{loss}. `streams status {status.application} --metrics` has all counters.")
    note(f"Logs: {status.log_places}")
    printed = api.read_printed_lines((pe.log for pe in status.pes if pe.here), max_rows)
    documents = {"results": [result_document(each) for each in shown], "printed": [asdict(each) for each in printed]}
    return answer(lambda: {**_facts(catalog, status), **documents})
