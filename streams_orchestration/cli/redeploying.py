"""`streams redeploy`: deploy again, or show what that would do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from streams_orchestration.cli.catalogs import upgrade_catalog
from streams_orchestration.cli.compiling import application_name
from streams_orchestration.cli.deploying import deploy_compiled, stop_orphans
from streams_orchestration.cli.failing import APPLICATION
from streams_orchestration.cli.invocation import answer, current, write_json
from streams_orchestration.cli.jobs import Jobs, last_options
from streams_orchestration.cli.messages import error as show_error
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.observing import status_document, status_if_deployed
from streams_orchestration.cli.outcomes import outcome_table
from streams_orchestration.cli.starting import compiled_to_run, locked_start, ready, run_words
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.options import GivenOptions, Options
from streams_orchestration.runtime.engine.spark.java import require_java
from streams_orchestration.runtime.errors import RevertedError
from streams_orchestration.runtime.redeployment.deployed import preview_redeploy
from streams_orchestration.runtime.redeployment.redeploying import redeploy as bring_to
from streams_orchestration.runtime.redeployment.trying import BY_HAND, revert_redeploy
from streams_orchestration.runtime.storage.home import Home


def redeploy(
    spec: Path | str,
    options: GivenOptions,
    drop_state: tuple[str, ...],
    within: float,
    *,
    fresh: bool,
    dry_run: bool,
    revert: bool,
) -> int:
    """Deploy again, with the compile options of the last time, or show what that would do; the exit status."""
    if revert:
        if fresh or dry_run or drop_state or options != GivenOptions(Options(name=options.options.name)):
            message = "--revert brings the plan before back as it was. Leave the other options out."
            raise click.UsageError(message, click.get_current_context())
        return _revert(
            Home.default(), options.options.name or (spec if isinstance(spec, str) else application_name(spec))
        )
    spec = Path(spec)
    if fresh and (dry_run or drop_state):
        message = "--fresh drops everything, so there is nothing to preview or to name. Leave it or the others out."
        raise click.UsageError(message, click.get_current_context())
    home = Home.default()
    wanted = ready(compiled_to_run(spec, options, partial(last_options, home)))
    application = wanted.name
    if fresh or (not dry_run and status_if_deployed(home, application) is None):
        return deploy_compiled("streams redeploy", spec, wanted, fresh=fresh)
    if not dry_run:
        return _redeploy(home, spec, wanted, drop_state, within)
    outcome = preview_redeploy(home, wanted, drop_state)
    if current().json:
        write_json(outcome.document())
    else:
        write_table(outcome_table(outcome), None)
    status = status_if_deployed(home, application)
    if outcome.verdict != "unchanged" and status is not None and status.state == "COMPLETED":
        again = run_words(spec, options.options)
        note(f"{application} is complete: nothing of it runs on. `{again} --fresh` computes it anew.")
        return APPLICATION
    return 0 if outcome.acceptable else APPLICATION


def _redeploy(home: Home, spec: Path, wanted: Deployable, drop_state: tuple[str, ...], within: float) -> int:
    """Put the new plan in the place of the deployed one, and show the outcome."""
    require_java()
    name = wanted.name
    reverted: RevertedError | None = None
    with locked_start(home.prepare(), name, "streams redeploy"):
        upgrade_catalog(home)
        jobs = Jobs(home, name)
        stop_orphans(jobs)
        note(f"Redeploying {name} ...")
        try:
            outcome = bring_to(home, wanted, drop=drop_state, within=within)
        except RevertedError as error:
            reverted, outcome = error, error.redeployment
        else:
            jobs.deploy(spec, wanted.compilation, fresh=False)
    status = jobs.status()
    facts = outcome.document() | {
        "reverted": None if reverted is None else reverted.cause,
        "state": status.state,
        "status": status_document(home, status),
    }
    if reverted is not None:
        show_error(str(reverted))
        return answer(lambda: facts, status=APPLICATION, error=str(reverted))
    if not current().json:
        write_table(outcome_table(outcome), None)
    paused = (
        ""
        if outcome.measured_seconds is None
        else f" What has changed stood still for {outcome.measured_seconds:.1f} s."
    )
    return answer(lambda: facts, f"{name} is {status.state}.{paused}")


def _revert(home: Home, name: str) -> int:
    """Bring the plan before the last redeploy back."""
    current().application = name
    revert_redeploy(home, name)
    jobs = Jobs(home, name)
    stop_orphans(jobs)
    status = jobs.status()
    facts = {"reverted": BY_HAND, "state": status.state, "status": status_document(home, status)}
    return answer(lambda: facts, f"{name} is {status.state}, with the plan before the last redeploy.")
