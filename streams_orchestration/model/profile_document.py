"""Reading a profile: from a file or a mapping, with all its errors at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.model.document import read_document
from streams_orchestration.model.element import Element, refuse
from streams_orchestration.model.loading import finding
from streams_orchestration.model.profile import Profile, StreamProfile
from streams_orchestration.model.values import show


class _Stream(Element):
    operator: str
    port: Annotated[int, Field(ge=0)] = 0
    tuples: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Document(Element):
    profile_version: Literal[1]
    application: str
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    streams: tuple[_Stream, ...] = ()

    @model_validator(mode="after")
    def _each_stream_once(self) -> Self:
        seen: set[tuple[str, int]] = set()
        for each in self.streams:
            if (each.operator, each.port) in seen:
                refuse("SO0209", f"output port {each.port} of {each.operator} stands in it twice")
            seen.add((each.operator, each.port))
        return self


def read_profile(path: Path) -> Profile:
    """The profile in a file, YAML or JSON.

    Raises:
        ApplicationError: the file cannot be read or is no profile; every finding has its line.
    """
    tree, diagnostics = read_document(path)
    if tree is None or diagnostics:
        raise ApplicationError(diagnostics)
    if not isinstance(tree, Mapping):
        message = f"a profile is a mapping, not {show(tree)}"
        raise ApplicationError([Diagnostic.of("SO0009", message, location=f"{path}:1")])
    return profile_from_mapping(tree)


def profile_from_mapping(tree: Mapping[str, Any]) -> Profile:
    """The profile that a mapping describes.

    Raises:
        ApplicationError: it is no profile.
    """
    context: dict[str, dict[int, type[Element]]] = {}
    try:
        document = _Document.model_validate(tree, by_alias=True, by_name=False, context=context)
    except ValidationError as failure:
        errors = failure.errors(include_url=False, include_input=False)
        raise ApplicationError(finding(error, tree, context.get("classes", {})) for error in errors) from failure
    return Profile(
        document.application,
        document.seconds,
        tuple(
            StreamProfile(each.operator, each.tuples, each.port, str(each.location() or ""))
            for each in document.streams
        ),
        str(document.location() or ""),
    )


def mapping_of(profile: Profile) -> dict[str, Any]:
    """A profile as the mapping that `profile_from_mapping` reads."""
    return {
        "profileVersion": 1,
        "application": profile.application,
        "seconds": profile.seconds,
        "streams": [{"operator": each.operator, "port": each.port, "tuples": each.tuples} for each in profile.streams],
    }
