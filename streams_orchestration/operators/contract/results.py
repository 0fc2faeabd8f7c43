"""Values that operators return, yield or submit, and their checks before they are used."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.contract.offset import Offset
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

MAX_SHOWN_CHARACTERS = 60
"""The number of characters of a value that errors show."""


class PendingFile(NamedTuple):
    """A file that a sink has written and that becomes visible with its epoch or its batch.

    The framework flushes the file to disk before the commit that names it. On publication it checks that the file is
    unchanged.
    """

    pending: Path
    final: Path | str | None
    """The final path, or an address of a `GatheringSink`; None if the content does not become a file (see `EpochSink`).
    """
    rows: int
    size: int
    """Size in bytes."""


class ProducedTo(NamedTuple):
    """The position of a source after one call of `produce`."""

    offset: Offset
    exhausted: bool


def described(value: object) -> str:
    """Describe a value for errors: the beginning of its text, and its type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  whatever the code of a user's class raises
        text = "a value"
    return f"{shortened(text, MAX_SHOWN_CHARACTERS)} ({type(value).__name__})"


def parts_of(result: Any, kinds: tuple[type, ...], wanted: str) -> Iterator[Any]:
    """Yield the parts of a function's result: none for None, the result itself, or the items that it contains.

    Args:
        result: the returned value.
        kinds: the allowed types of a part.
        wanted: describes what may be returned, for errors.

    Raises:
        ResultError: the result, or a part of the result, has another type.
    """
    if result is None:
        return
    if isinstance(result, kinds):
        yield result
        return
    try:
        parts = iter(result)
    except TypeError:
        message = f"it returned {described(result)}; {wanted}"
        raise ResultError(message) from None
    for part in parts:
        if not isinstance(part, kinds):
            gave = f"yielded {described(part)}" if parts is result else f"returned {described(result)}"
            message = f"it {gave}; {wanted}"
            raise ResultError(message)
        yield part


def no_mark(mark: object) -> str:
    """Return the message about a value that is not a punctuation mark."""
    return f"it submits the mark {described(mark)}; a mark must be Punctuation.WINDOW or Punctuation.FINAL"


def check_port(port: Any, outputs: Sequence[pa.Schema | None]) -> None:
    """Raise ResultError when there is no output port of this number."""
    if not isinstance(port, int) or not 0 <= port < len(outputs):
        there = f"there are {len(outputs)}, numbered from 0" if outputs else "it has no output ports"
        message = f"there is no output port {port!r:.{MAX_SHOWN_CHARACTERS}}; {there}"
        raise ResultError(message)


def check_tuples(batch: Any, port: Any, outputs: Sequence[pa.Schema | None]) -> None:
    """Raise ResultError if the batch is not a TupleBatch, the port does not exist, or tuples differ from its schema."""
    if not isinstance(batch, TupleBatch):
        message = (
            f"it submits {described(batch)}; `submit` takes a TupleBatch: TupleBatch.from_columns(columns, schema) "
            "makes one"
        )
        raise ResultError(message)
    check_port(port, outputs)
    schema = outputs[port]
    if schema is not None and len(batch) and batch.schema != schema:
        message = f"it submits tuples of {type_text(batch.schema)}, but output port {port} has {type_text(schema)}"
        raise ResultError(message)


def partitions_of(partitions: Any, count: int) -> pa.DictionaryArray:
    """Return the partition of each tuple as an Arrow dictionary array of names.

    Raises:
        ResultError: the number of names differs from the number of tuples, a name is null, or names are neither whole
            numbers nor texts.
    """
    try:
        names = pa.array(partitions) if not isinstance(partitions, pa.Array) else partitions
    except pa.ArrowException as error:
        message = f"it submits tuples of the partitions {described(partitions)}; a partition must be a number or a text"
        raise ResultError(message) from error
    if len(names) != count:
        message = f"it submits {count} tuples and names {len(names)} partitions; it must name one for each tuple"
        raise ResultError(message)
    encoded = names if isinstance(names, pa.DictionaryArray) else names.dictionary_encode()
    kind = encoded.dictionary.type
    if encoded.null_count or not (pa.types.is_integer(kind) or pa.types.is_string(kind) or not count):
        what = "a null" if encoded.null_count else type_name(kind)
        message = f"it submits tuples with {what} as a partition; a partition must be a number or a text"
        raise ResultError(message)
    return encoded


def check_nothing(result: object, method: str) -> None:
    """Raise ResultError if a method returned something, since that would be lost."""
    if result is None:
        return
    if inspect.isgenerator(result) or inspect.iscoroutine(result):
        message = f"its `{method}` contains `yield` or is `async`, so it did not run; "
    else:
        message = f"its `{method}` returned {described(result)}; "
    message += f"`{method}` must return nothing, and submit its tuples: self.submit(batch)"
    raise ResultError(message)


def check_state(state: Any) -> Mapping[str, Any]:
    """Return the result of `checkpoint`. Raise ResultError if it is not a mapping with text keys."""
    if not isinstance(state, Mapping) or not all(isinstance(name, str) for name in state):
        message = f"its `checkpoint` returned {described(state)}; it must return the parts of the state by name"
        raise ResultError(message)
    return state


def check_offset(offset: object) -> None:
    """Raise ResultError if the value is not a valid offset, which is a dictionary of JSON values."""
    try:
        if isinstance(offset, dict):
            json.dumps(offset)
            return
    except (TypeError, ValueError):
        pass
    message = f"the offset is {described(offset)}; an offset must be a dictionary of JSON values by name"
    raise ResultError(message)


def type_text(schema: pa.Schema) -> str:
    """Return a tuple type as text for errors."""
    return ", ".join(f"{field.name} {type_name(field.type)}" for field in schema)


def check_produced(produced: ProducedTo) -> ProducedTo:
    """Return the result of `produce`. Raise ResultError if it has a wrong type, or its offset is not valid."""
    _require(isinstance(produced, ProducedTo), "produce", produced, "ProducedTo(offset, exhausted)")
    check_offset(produced.offset)
    return produced


def check_available(bound: Offset | None) -> Offset | None:
    """Return the result of `available`. Raise ResultError if it has a wrong type."""
    _require(bound is None or isinstance(bound, dict), "available", bound, "a dict of JSON, or None")
    return bound


def check_pause(pause: float | None) -> float | None:
    """Return the result of `pause`, in seconds. Raise ResultError if it is neither None nor a number of at least 0."""
    fits = pause is None or (isinstance(pause, int | float) and pause >= 0)
    _require(fits, "pause", pause, "seconds, 0 or more, or None")
    return pause


def check_files(files: tuple[PendingFile, ...]) -> tuple[PendingFile, ...]:
    """Return the result of `prepare_commit`, a tuple or list, as a tuple. Raise ResultError if it has a wrong type."""
    fits = isinstance(files, tuple | list) and all(isinstance(file, PendingFile) for file in files)
    _require(fits, "prepare_commit", files, "a tuple of PendingFile")
    return tuple(files)


def _require(fits: bool, method: str, result: object, wanted: str) -> None:  # noqa: FBT001
    """Raise ResultError, which names the method and the wanted result, unless the result fits."""
    if not fits:
        message = f"its `{method}` returned {described(result)}; it must return {wanted}"
        raise ResultError(message)
