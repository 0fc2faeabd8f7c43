"""The request of `streams run` and `streams deploy`, and the savepoint of `--from` with which an application begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from streams_orchestration.compiler.brief import plural
from streams_orchestration.runtime import api


def start_request(
    savepoint: str | None, drop_state: tuple[str, ...], run: api.RunKind | None = None, *, fresh: bool
) -> api.Request:
    """Return the request to bring an application up that the options make.

    Args:
        savepoint: the savepoint that `--from` names.
        drop_state: the operators whose saved state may be lost.
        run: the kind of run that begins; None for one without an end.
        fresh: drop the state and results of earlier runs.

    Raises:
        UsageError: `--drop-state` is given without `--from`.
    """
    run = run or api.RunKind()
    if savepoint is not None:
        return api.FromSavepoint(savepoint, drop_state, fresh, run)
    if drop_state:
        message = (
            "--drop-state applies to the state of a savepoint. Name the savepoint with --from, or leave --drop-state "
            "out."
        )
        raise click.UsageError(message, click.get_current_context())
    return api.StartOver(run) if fresh else api.GoOn(run)


def restored_lines(restored: api.RestoredApplication) -> Iterator[str]:
    """Yield lines about the savepoint from which an application began, and its differences from the application."""
    manifest, outcome = restored.manifest, restored.redeployment
    rows = sum(state.rows or 0 for state in manifest.states)
    yield (
        f"{outcome.application} begins at epoch {manifest.epoch} of {manifest.title}, taken {manifest.created_at}: "
        f"{plural(len(manifest.states), 'state')} with {plural(rows, 'row')}."
    )
    yield from (f"{text}." for text in restored.notes)


def restored_facts(restored: api.RestoredApplication) -> dict[str, Any]:
    """Return the savepoint from which an application began, and the differences, as keys of a JSON document."""
    manifest, document = restored.manifest, restored.redeployment.document()
    savepoint = {"savepoint": manifest.title, "path": str(restored.place), "createdAt": manifest.created_at}
    effects = {name: document[name] for name in ("verdict", "operators")}
    return {"from": savepoint | {"epoch": manifest.epoch} | effects | {"notes": restored.notes}}
