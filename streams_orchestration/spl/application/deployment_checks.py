"""Findings on annotations and configs of an application that has other errors, so that one run reports all errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.document import LocatedMapping
from streams_orchestration.model.loading import validate_document
from streams_orchestration.spl.language.tree import Node
from streams_orchestration.spl.toolkits.units import LoadedUnit

_Place = tuple[int, int]


def deployment_findings(
    document: LocatedMapping, units: Iterable[LoadedUnit], known: Iterable[Diagnostic]
) -> list[Diagnostic]:
    """Return what the checks of a document find in annotations and configs. Findings elsewhere may follow from others.

    Args:
        document: the document, in which parts with errors are left out.
        units: the files of the application.
        known: the findings so far, whose places are left out.
    """
    spans = [span for unit in units for span in _spans(unit)]
    taken = {each.location for each in known}
    _, found = validate_document(document)
    return [each for each in found if each.location not in taken and _is_within(each.location, spans)]


def _spans(unit: LoadedUnit) -> Iterator[tuple[str, _Place, _Place]]:
    """Yield the file, the first and the last place of each annotation and config."""
    for composite in unit.composites():
        for owner in (composite, *composite.graph):
            parts: tuple[Node, ...] = (*owner.annotations, *owner.configs)
            for each in parts:
                yield unit.source.file, unit.source.place(each.first), unit.source.place(each.last)


def _is_within(location: str, spans: Iterable[tuple[str, _Place, _Place]]) -> bool:
    file, *place = location.rsplit(":", 2)
    if len(place) != 2 or not all(map(str.isdecimal, place)):
        return False
    line, column = map(int, place)
    return any(file == name and first <= (line, column) <= last for name, first, last in spans)
