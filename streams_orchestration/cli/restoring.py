"""The savepoint of `--from` with which an application begins, as lines of text and as keys of a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.model.brief import plural
from streams_orchestration.runtime import api


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
