"""`streams run`: compile, deploy, follow, show the result."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from streams_orchestration.cli.failing import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.late_sinks import undelivered
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.metrics import losses
from streams_orchestration.cli.observing import status_document, status_if_deployed
from streams_orchestration.cli.restoring import require_origin
from streams_orchestration.cli.starting import (
    checked_to_run,
    compiled_with_kept_options,
    locked_start,
    options_to_keep,
    ready_to_start,
    run_words,
)
from streams_orchestration.cli.terminal import results
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.options import GivenOptions
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.runtime import api


def run(
    spec: Path,
    options: GivenOptions,
    max_rows: int,
    origin: str | None,
    drop_state: tuple[str, ...],
    *,
    fresh: bool,
    available_now: bool,
) -> int:
    """Compile an application, run it until its input or the available data end, and show its result."""
    require_origin(origin, drop_state)
    home, goes_on = api.Home.default(), not fresh and origin is None
    read = read_application(spec)
    again = run_words(spec, options.options)
    kept = options_to_keep(home, options.options.name or read.name) if goes_on else None
    compilation = compiled_with_kept_options(read, options, kept)
    name, identity, before = compilation.logical.application, fingerprint(compilation), None
    if goes_on and (home.root.exists() or api.Catalog(home).version() is not None):
        with locked_start(home.prepare(), name, "streams run"):
            before = _deployed_before(home, compilation, identity)
            if before is not None and before.state == "COMPLETED" and not _has_more(home, name):
                note(f"{name} was complete already. `{again} --fresh` computes it from the beginning.")
                return _completed(home, before, max_rows)
    wanted = checked_to_run(compilation, identity)  # an application that cannot run leaves no state directory
    api.require_java()
    if before is not None:
        note(_continuation(name, before))
    # loads the code that deploys, which a complete application does not need
    from streams_orchestration.cli.foreground import run_application

    begins = api.RunKind(bounded=available_now, reopens=True)
    request = api.Request(fresh=fresh, savepoint=origin, drop=drop_state, run=begins)
    with ready_to_start(home, name, "streams run") as lock:
        after, interrupted = run_application(home, spec, lock, wanted, request)
    if after.taken_at is not None:
        note(f"{name} has processed the available input. `{again} --available-now` continues after it.")
        return _completed(home, after, max_rows)
    if after.state == "STOPPED":
        for line in undelivered(after):
            note(line)
        how = "" if interrupted else " by another command"
        message = f"{name} is stopped{how}. `{again}` goes on from {_point(after)}."
        note(message)
        status = interrupted or APPLICATION
        return answer(lambda: _facts(home, after), status=status, error=message)
    note(f"{name} is complete.")
    return _completed(home, after, max_rows)


def _deployed_before(home: api.Home, compilation: Compilation, identity: str) -> api.ApplicationStatus | None:
    """Return the status of an earlier deployment of the application; None if it was never deployed here.

    Args:
        home: the state directory.
        compilation: the compiled application.
        identity: its fingerprint.

    Raises:
        ApplicationChangedError: the deployed application differs from the compiled one.
    """
    name = compilation.logical.application
    before = status_if_deployed(home, name)
    if before is not None and before.fingerprint != identity:
        deployed = api.deployed_compilation(home, name)
        raise api.changed_application(deployed, compilation, complete=before.state == "COMPLETED")
    return before


def _continuation(name: str, before: api.ApplicationStatus) -> str:
    """Describe in words the point from which a deployed application continues."""
    alive = [host.process for host in before.hosts if host.alive]
    if before.state == "RUNNING" and alive:
        return f"{name} is already running ({', '.join(alive)}); following it."
    return f"{name}: going on from {_point(before)}; `--fresh` would start over."


def _has_more(home: api.Home, application: str) -> bool:
    """Return True if sources of a complete application have more input than they had at its end."""
    try:
        sources = api.sources_with_more(home, application)
    except Exception as error:  # noqa: BLE001 - the code of any source may fail
        note(f"It cannot be seen from here whether {application} has more input: {error}")
        return False
    if sources:
        note(f"{application} was complete, and there is more input for {', '.join(sources)}.")
    return bool(sources)


def _point(status: api.ApplicationStatus) -> str:
    """Describe in words the point from which an application that does not run will continue."""
    epoch = min((unit.completed_epoch for unit in status.units), default=0)
    if epoch:
        return f"epoch {epoch}, the last complete one"
    return "its last commits, in the first epoch" if any(pe.batch >= 0 for pe in status.pes) else "the start"


def _facts(home: api.Home, status: api.ApplicationStatus) -> dict[str, Any]:
    return {"state": status.state, "status": status_document(home, status)}


def _completed(home: api.Home, status: api.ApplicationStatus, max_rows: int) -> int:
    """Show the results in the sinks of an application that has ended; return the exit status."""
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
    for loss in losses(api.read_metrics(home, status.application)):
        note(f"{loss}. `streams status {status.application} --metrics` has all counters.")
    note(f"Logs: {status.log_places}")
    printed = api.read_printed((pe.log for pe in status.pes if pe.here), max_rows)
    documents = {"results": [result_document(each) for each in shown], "printed": [asdict(each) for each in printed]}
    return answer(lambda: {**_facts(home, status), **documents})
