"""Reading a decoupling decision: from a file or a mapping, with all its errors at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, ValidationError

from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.decoupling import MACHINES
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.model.document import read_document
from streams_orchestration.model.element import Element
from streams_orchestration.model.loading import finding
from streams_orchestration.model.values import show

Machine = Annotated[int, Field(ge=0, lt=MACHINES, strict=True)]


class _Document(Element):
    decoupling_version: Literal[1]
    application: str
    fingerprint: str
    machines: dict[str, Machine]
    decision: dict[str, JsonValue] = Field(default_factory=dict)
    """What was known when it was decided: loads, bound, speed-up. Nothing here looks at it."""


def read_assignment(path: Path) -> Assignment:
    """The decision in a file, YAML or JSON.

    Raises:
        ApplicationError: the file cannot be read or is no decision; every finding has its line.
    """
    tree, diagnostics = read_document(path)
    if tree is None or diagnostics:
        raise ApplicationError(diagnostics)
    if not isinstance(tree, Mapping):
        message = f"a decoupling decision is a mapping, not {show(tree)}"
        raise ApplicationError([Diagnostic.of("SO0009", message, location=f"{path}:1")])
    return assignment_from_mapping(tree)


def assignment_from_mapping(tree: Mapping[str, Any]) -> Assignment:
    """The decision that a mapping describes.

    Raises:
        ApplicationError: it is no decision.
    """
    context: dict[str, dict[int, type[Element]]] = {}
    try:
        document = _Document.model_validate(tree, by_alias=True, by_name=False, context=context)
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)
        raise ApplicationError(finding(error, tree, context.get("classes", {})) for error in errors) from failure
    return Assignment(
        document.application, document.fingerprint, dict(document.machines), str(document.location() or "")
    )


def mapping_of_assignment(assignment: Assignment) -> dict[str, Any]:
    """A decision as the mapping that `assignment_from_mapping` reads."""
    return {
        "decouplingVersion": 1,
        "application": assignment.application,
        "fingerprint": assignment.fingerprint,
        "machines": dict(assignment.machines),
    }
