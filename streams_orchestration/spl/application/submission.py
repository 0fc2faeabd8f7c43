"""The submission-time values of an application."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.spl.language.definitions import Composite
from streams_orchestration.spl.toolkits.units import LoadedUnit
from streams_orchestration.spl.typing.spans import Mistake, Span


class SubmissionNames:
    """The names of submission-time values that are local to composites, since their defaults differ."""

    def __init__(self, composites: Sequence[tuple[str, Composite]], names: frozenset[str]) -> None:
        """Take the composites with their files, and the names that become local to them."""
        self._composites = composites
        self.names = names

    def name(self, span: Span, name: str) -> str:
        """Return `composite.name` for the composite at a place in the source, or the name itself."""
        place = place_in(self._composites, span) if name in self.names else None
        return name if place is None else f"{self._composites[place][1].name.name}.{name}"


class Submission:
    """The submission-time values that an application uses."""

    def __init__(self, divided: SubmissionNames | None = None) -> None:
        """Start with no values.

        Args:
            divided: the names of the values whose defaults differ between composites; None if there are none.
        """
        self._divided = divided
        self.types: dict[str, str] = {}
        self.defaults: dict[str, Any] = {}
        self.noted: list[tuple[Span, str, Any]] = []
        """The calls that give a default: place of the call, name of the value, and default."""

    def name(self, span: Span, name: str) -> str:
        """Return the name in the document of a value that a call at a place in the source names."""
        return name if self._divided is None else self._divided.name(span, name)

    def use(self, types: dict[str, str]) -> None:
        """Record the types with which submission-time values are used.

        A value with several types is declared as a text.
        """
        for name, type_ in types.items():
            self.types[name] = type_ if self.types.get(name, type_) == type_ else "rstring"

    def document(self) -> dict[str, Any]:
        """Return the document's entry `submission`, with defaults converted to their types.

        A text that cannot be converted stays a text.
        """
        entries: dict[str, Any] = {}
        for name, type_ in sorted(self.types.items()):
            entry: dict[str, Any] = {"type": type_}
            if name in self.defaults:
                entry["default"] = _typed(self.defaults[name], type_)
            entries[name] = entry
        return entries


def place_in(composites: Sequence[tuple[str, Composite]], span: Span) -> int | None:
    """Return the position of the composite in whose text a place is; None for a place outside of all of them."""
    return next(
        (
            at
            for at, (file, each) in enumerate(composites)
            if file == span.source.file and each.first <= span.first <= each.last
        ),
        None,
    )


def divided_names(submission: Submission, units: Iterable[LoadedUnit]) -> SubmissionNames | None:
    """Return the names with different defaults in different composites; None if there are none."""
    composites = [(unit.source.file, each) for unit in units for each in unit.composites()]
    defaults: dict[str, list[tuple[int | None, Any]]] = {}
    for span, name, default in submission.noted:
        defaults.setdefault(name, []).append((place_in(composites, span), default))
    names = frozenset(
        name
        for name, given in defaults.items()
        if any(place != given[0][0] and default != given[0][1] for place, default in given)
    )
    return SubmissionNames(composites, names) if names else None


def check_defaults(submission: Submission, units: Iterable[LoadedUnit], mistakes: list[Mistake]) -> None:
    """Report a submission-time value that has two different defaults in the text of one composite."""
    composites = [(unit.source.file, each) for unit in units for each in unit.composites()]
    known: dict[tuple[int, str], Any] = {}
    for span, name, default in submission.noted:
        place = place_in(composites, span)
        if place is not None and known.setdefault((place, name), default) != default:
            message = f"{name} has the default {known[place, name]} in this composite, but {default} here"
            mistakes.append(Mistake("CDISP0531E", message, span))


def _typed(text: Any, type_: str) -> Any:
    if isinstance(text, list):
        return json.dumps(text)
    if not isinstance(text, str):
        return text if type_ != "rstring" else str(text)
    try:
        if type_ in ("int32", "int64"):
            return int(text)
        if type_ == "float64":
            return float(text)
    except ValueError:
        return text
    return text == "true" if type_ == "boolean" else text


def references(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield (key, name) for each reference to a submission-time value in a nested value.

    The key is the innermost one around the reference, empty without one. `${getChannel()}` is not such a reference.
    """
    if isinstance(value, str) and value.startswith("${") and value.endswith("}") and "(" not in value:
        yield key, value[2:-1]
    elif is_mapping(value):
        for name, each in value.items():
            yield from references(each, name)
    elif is_list(value):
        for each in value:
            yield from references(each, key)
