"""`streams deploy`, `cancel` and `reset`: they run a job and end; the application runs on by itself."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from streams_orchestration.cli.catalogs import upgrade_catalog
from streams_orchestration.cli.failing import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.jobs import Jobs
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.observing import status_document
from streams_orchestration.cli.restoring import begin_from, require_origin
from streams_orchestration.cli.starting import compiled_to_run, deployed_options, locked_start, nothing_kept, ready
from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.options import GivenOptions
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.deployment.unheard import await_unheard
from streams_orchestration.runtime.engine.spark.java import require_java
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import failed_units


def deploy(spec: Path, options: GivenOptions, origin: str | None, drop_state: tuple[str, ...], *, fresh: bool) -> int:
    """Compile an application and start it in the background."""
    require_origin(origin, drop_state)
    kept_of = nothing_kept if fresh or origin is not None else partial(deployed_options, Home.default())
    wanted = ready(compiled_to_run(spec, options, kept_of))
    return deploy_compiled("streams deploy", spec, wanted, fresh=fresh, origin=origin, drop_state=drop_state)


def deploy_compiled(
    command: str,
    spec: Path,
    wanted: Deployable,
    *,
    fresh: bool,
    origin: str | None = None,
    drop_state: tuple[str, ...] = (),
) -> int:
    """Start a compiled application in the background, for a command of this name."""
    name = wanted.name
    require_java()
    home = Home.default().prepare()
    facts: dict[str, Any] = {}
    with locked_start(home, name, command):
        upgrade_catalog(home)
        jobs = Jobs(home, name)
        stop_orphans(jobs)
        note(f"Starting {name} ...")
        if origin is not None:
            facts = begin_from(home, spec, wanted, origin, drop_state, fresh=fresh)
            fresh = False
        jobs.deploy(spec, wanted.compilation, fresh=fresh)
    status = jobs.status()
    text = f"{name} is {status.shown_state}. `streams status {name}` shows it, `streams cancel {name}` stops it."
    return answer(lambda: {**facts, "state": status.shown_state, "status": status_document(home, status)}, text)


def stop_orphans(jobs: Jobs) -> None:
    """Stop processes of hosts that are no longer wanted, and report them."""
    for orphan in jobs.stop_orphans():
        note(str(orphan))


def cancel(application: str, timeout: float) -> int:
    """Stop an application; its state is kept."""
    home = Home.default()
    current().application = application
    read_status(home, application)
    jobs = Jobs(home, application)
    stop_orphans(jobs)
    jobs.cancel(timeout)
    status = jobs.status()
    return answer(
        lambda: {"state": status.shown_state, "status": status_document(home, status)},
        f"{application} is {status.shown_state}.",
    )


def reset(application: str, unit: str | None, *, force: bool) -> int:
    """Bring a failed region or PE back to its last complete epoch."""
    home = Home.default()
    current().application = application
    read_status(home, application)
    await_unheard(home, application, note)
    status = read_status(home, application)
    units = (unit,) if unit else failed_units(status, clock.now())
    jobs = Jobs(home, application)
    stop_orphans(jobs)
    outcomes: list[dict[str, str | bool | None]] = []
    lines: list[str] = []
    refused: list[str] = []
    for name in units:
        try:
            _require_incomplete(status, name)
            jobs.reset(name, force=force)
        except StreamsRuntimeError as error:
            refused.append(str(error))
            outcomes.append({"unit": name, "reset": False, "error": str(error)})
        else:
            lines.append(f"{application}: {name} goes on from its last complete epoch.")
            outcomes.append({"unit": name, "reset": True, "error": None})
    error = "\n".join(refused) or None
    if error is not None:
        show_error(error)
    status = jobs.status()
    return answer(
        lambda: {"state": status.shown_state, "units": outcomes, "status": status_document(home, status)},
        "\n".join(lines),
        status=APPLICATION if refused else 0,
        error=error,
    )


def _require_incomplete(status: ApplicationStatus, unit: str) -> None:
    """Raise StreamsRuntimeError when a unit has run to its end, so that nothing of it can go back."""
    states = {pe.state for pe in status.pes if pe.unit == unit}
    if states == {"COMPLETED"}:
        message = (
            f"{status.application}: {unit} is complete, so nothing of it is reset. "
            "`streams run SPEC --fresh` computes everything anew."
        )
        raise StreamsRuntimeError(message)
