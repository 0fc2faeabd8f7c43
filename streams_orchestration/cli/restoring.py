"""`--from`: an application begins where a savepoint was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from streams_orchestration.cli.messages import note
from streams_orchestration.compiler.brief import plural
from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.model.loading import load_application
from streams_orchestration.runtime.storage.home import Home


def require_origin(origin: str | None, drop_state: tuple[str, ...]) -> None:
    """Raise UsageError when `--drop-state` is there without a savepoint whose state could be lost."""
    if drop_state and origin is None:
        message = "--drop-state is about the state of a savepoint. Name that with --from, or leave --drop-state out."
        raise click.UsageError(message, click.get_current_context())


def begin_from(
    home: Home, spec: Path, wanted: Deployable, origin: str, drop_state: tuple[str, ...], *, fresh: bool
) -> dict[str, Any]:
    """Write an application from a savepoint into the catalog; returns the outcome as keys of a document."""
    # loads what reads states, which commands without a savepoint do without
    from streams_orchestration.runtime.savepoints.places import savepoint_of
    from streams_orchestration.runtime.savepoints.restoring import restore

    place = savepoint_of(home, origin, load_application(spec).application)
    restored = restore(home, wanted, place, drop=drop_state, fresh=fresh)
    manifest, outcome = restored.manifest, restored.redeployment
    rows = sum(state.rows or 0 for state in manifest.states)
    note(
        f"{outcome.application} begins at epoch {manifest.epoch} of {manifest.title}, taken {manifest.created_at}: "
        f"{plural(len(manifest.states), 'state')} with {plural(rows, 'row')}."
    )
    for text in restored.notes:
        note(f"{text}.")
    document = outcome.document()
    facts = {"savepoint": manifest.title, "path": str(place), "createdAt": manifest.created_at, "epoch": manifest.epoch}
    return {"from": facts | {name: document[name] for name in ("verdict", "operators")} | {"notes": restored.notes}}
