"""Reading a decoupling decision: from a file or a mapping, with all its errors at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.decoupling import MACHINES
from streams_orchestration.model.element import Element
from streams_orchestration.model.reading import read_mapping, validated

Machine = Annotated[int, Field(ge=0, lt=MACHINES, strict=True)]


class _Document(Element):
    decoupling_version: Literal[1]
    application: str
    fingerprint: str
    machines: dict[str, Machine]
    decision: dict[str, JsonValue] = Field(default_factory=dict)
    """Figures from the solver, such as loads, bound and speed-up. They inform a reader of the file and are otherwise
    ignored."""


def read_assignment(path: Path) -> Assignment:
    """Read a decision from a file in YAML or JSON.

    Raises:
        ApplicationError: the file cannot be read, or is not a decision; every finding has its line.
    """
    return assignment_from_mapping(read_mapping(path, "a decoupling decision"))


def assignment_from_mapping(tree: Mapping[str, Any]) -> Assignment:
    """Read a decision from a mapping.

    Raises:
        ApplicationError: the mapping is not a decision.
    """
    document = validated(_Document, tree)
    return Assignment(
        document.application, document.fingerprint, dict(document.machines), str(document.location() or "")
    )


def mapping_of_assignment(assignment: Assignment) -> dict[str, Any]:
    """Return a decision as a mapping; the inverse of `assignment_from_mapping`."""
    return {
        "decouplingVersion": 1,
        "application": assignment.application,
        "fingerprint": assignment.fingerprint,
        "machines": dict(assignment.machines),
    }
