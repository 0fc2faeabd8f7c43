"""`streams redeploy`: deploy again, or show what that would do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from streams_orchestration.cli.compiling import compiled
from streams_orchestration.cli.deploying import deploy_compiled
from streams_orchestration.cli.failing import APPLICATION
from streams_orchestration.cli.invocation import current, write_json
from streams_orchestration.cli.jobs import last_options
from streams_orchestration.cli.outcomes import outcome_table
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.loading import load_application
from streams_orchestration.runtime.redeployment.deployed import preview_redeploy
from streams_orchestration.runtime.storage.home import Home


def redeploy(
    spec: Path, decoupling: Assignment | None, drop_state: tuple[str, ...], *, fresh: bool, dry_run: bool
) -> int:
    """Deploy again, with the compile options of the last time, or show what that would do; the exit status."""
    if drop_state and not dry_run:
        message = "--drop-state goes with --dry-run: a redeploy with state kept is previewed only, for the time being."
        raise click.UsageError(message, click.get_current_context())
    if fresh and dry_run:
        message = "--fresh drops everything, so there is nothing to preview. Leave --fresh or --dry-run out."
        raise click.UsageError(message, click.get_current_context())
    options = last_options(Home.default(), load_application(spec).application)
    if decoupling is not None:
        options = replace(options, decoupling=decoupling)
    if not dry_run:
        return deploy_compiled("streams redeploy", spec, options, fresh=fresh)
    outcome = preview_redeploy(Home.default(), compiled(spec, options, deployable=True), drop_state)
    if current().json:
        write_json(outcome.document())
    else:
        write_table(outcome_table(outcome), None)
    return 0 if outcome.acceptable else APPLICATION
