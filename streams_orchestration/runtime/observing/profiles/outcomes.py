"""Comparisons of decisions' predictions with later measurements, stored under the application's artifacts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.profiles.costs import measured_costs
from streams_orchestration.model.assignment_document import assignment_from_mapping
from streams_orchestration.model.profile import Profile
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from streams_orchestration.compiler.decoupling.outcome import Outcome

MAX_COMPARISONS = 50
"""The most comparisons that are kept per application."""


class OutcomesError(StreamsRuntimeError):
    """The stored comparisons cannot be read or written."""


def compare_with_profile(compilation: Compilation, profile: Profile, document: Mapping[str, Any]) -> Outcome | None:
    """Compare a decision with a profile; return None if the application does not run with that decision.

    Raises:
        ApplicationError: the document is not a decision, or the profile has no costs.
    """
    from streams_orchestration.compiler.decoupling.outcome import outcome

    applied = compilation.options.decoupling
    if applied is None or assignment_from_mapping(document).machines != applied.machines:
        return None
    plan = compilation.logical, compilation.physical, compilation.fusion
    costs, _ = measured_costs(plan[0], plan[1], profile)
    return outcome(*plan, costs, profile, document["decision"])


def _read_outcomes(home: Home, application: str) -> list[dict[str, Any]]:
    """Return the stored comparisons, the oldest first; none without a file. Raises OutcomesError."""
    path = _path(home, application)
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        message = f"{path}: cannot be read: {error}. Move it away; then a new file is begun."
        raise OutcomesError(message) from error


def store_outcome(home: Home, application: str, outcome: Outcome, at: float) -> tuple[Path, list[dict[str, Any]]]:
    """Store a comparison, and remove all but the newest `MAX_COMPARISONS`; return the path and the comparisons.

    Raises:
        OutcomesError: the file cannot be read or written.
    """
    kept = [*_read_outcomes(home, application), {"at": at, **outcome.document()}][-MAX_COMPARISONS:]
    path = _path(home, application)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(kept, indent=2) + "\n")
    except OSError as error:
        message = f"{path}: cannot be written: {error.strerror}. Make room, or give it write permission."
        raise OutcomesError(message) from error
    return path, kept


def _path(home: Home, application: str) -> Path:
    return home.artifacts / application / "decoupling_outcome.json"
