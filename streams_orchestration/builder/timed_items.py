"""Watermarks among the tuples that a test gives to a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.access import ticks_of
from streams_orchestration.operators.event_time.times import type_of
from streams_orchestration.operators.tuples.watermarks import IDLE, Idle, Watermark

_REPLAY = "ReplayOfATest"
_IMPLEMENTATION = "streams_orchestration.operators.testing.replay:Replay"

Marks = list[tuple[int, Watermark | Idle]]
"""Watermarks, each with the number of tuples before it."""


def split_marks(rows: Sequence[Any]) -> tuple[list[Any], Marks]:
    """Divide the input that a test gives into tuples and watermarks."""
    tuples: list[Any] = []
    marks: Marks = []
    for row in rows:
        if isinstance(row, Watermark | Idle):
            marks.append((len(tuples), row))
        else:
            tuples.append(row)
    return tuples, marks


def replay(
    document: dict[str, Any], node: dict[str, Any], stream: str, file: str, marks: Marks, schema: pa.Schema
) -> None:
    """Turn an annotated source into one that reads the test's tuples from a file and submits the test's watermarks.

    The operator is declared in the document, and the annotation's minimum gap becomes 0.

    Raises:
        ValueError: the source has no annotation `eventTime`, or a watermark is not a value of the attribute.
    """
    annotation = node.get("annotations", {}).get("eventTime")
    if not isinstance(annotation, Mapping):
        message = f"{stream}: {marks[0][1]} is among its tuples, but its source has no annotation eventTime"
        raise ValueError(message)
    settings = cast("Mapping[str, Any]", annotation)
    attribute = str(settings.get("eventTimeAttribute"))
    document.setdefault("operators", {})[_REPLAY] = {
        "implementation": _IMPLEMENTATION,
        "inputs": [],
        "outputs": [{}],
        "watermarkMode": "manual",
    }
    node["operator"] = _REPLAY
    node["parameters"] = {"file": file, "watermarks": _ticks(stream, marks, attribute, schema)}
    node["annotations"] = {**node["annotations"], "eventTime": {**settings, "minimumGap": 0.0}}


def take_watermarks_of_test(node: dict[str, Any]) -> None:
    """Give an Import with event time the annotation `eventTime`, for the source that replaces it in a test (EV48)."""
    taken = node.get("parameters", {}).get("eventTime") if node["operator"] == "Import" else None
    if isinstance(taken, Mapping):
        settings = cast("Mapping[str, Any]", taken)
        note = {"eventTimeAttribute" if key == "attribute" else key: value for key, value in settings.items()}
        node["annotations"] = {**node.get("annotations", {}), "eventTime": note}


def without_event_time(node: dict[str, Any], schema: pa.Schema | None) -> None:
    """Drop the annotation `eventTime` of a source whose only output lacks the attribute that it names.

    If the schema of the output is unknown, nothing is changed.
    """
    annotations: dict[str, Any] = node.get("annotations", {})
    role: dict[str, Any] = annotations.get("eventTime") or {}
    attribute = str(role.get("eventTimeAttribute"))
    if schema is not None and "eventTime" in annotations and type_of(schema, attribute) is None:
        node["annotations"] = {key: value for key, value in annotations.items() if key != "eventTime"}


def _ticks(stream: str, marks: Marks, attribute: str, schema: pa.Schema) -> list[list[int]]:
    kind = type_of(schema, attribute)
    if kind is None:
        message = f"{stream}: its tuples have no attribute {attribute}, which its annotation eventTime names"
        raise ValueError(message)
    try:
        return [
            [place, IDLE if isinstance(mark, Idle) else ticks_of(mark.value, kind, attribute)] for place, mark in marks
        ]
    except DataError as error:
        message = f"{stream}: in a Watermark, {error}"
        raise ValueError(message) from error
