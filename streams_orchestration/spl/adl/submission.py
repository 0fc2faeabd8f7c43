"""Submission-time values and annotations of a compiled application."""

from __future__ import annotations

from typing import Any

from streams_orchestration.spl.adl.errors import AdlError
from streams_orchestration.spl.adl.graph import AdlInstance, AnnotationValue, CompiledApplication, SubmissionTimeValue
from streams_orchestration.spl.adl.parts import unquoted

_NUMBERS = {"int32": int, "int64": int, "float64": float}
_ANNOTATIONS = {
    "consistent": {
        "trigger": str,
        "period": float,
        "drainTimeout": float,
        "resetTimeout": float,
        "maxConsecutiveResetAttempts": int,
    },
    "threading": {"model": str, "threads": int, "elastic": bool},
    "eventTime": {"eventTimeAttribute": str, "resolution": str, "lag": float, "minimumGap": float},
}
"""Annotation of a document -> its keys, with the types of their values."""
_TYPES = {int: "int32", float: "float64"}


class AdlSubmission:
    """The submission-time values that an application uses, each with the type that its uses require."""

    def __init__(self, application: CompiledApplication) -> None:
        self._values = application.submission
        self._types: dict[int, str] = {}
        names: dict[str, set[str | None]] = {}
        for value in application.submission.values():
            names.setdefault(value.name, set()).add(value.default)
        self._names = {
            index: _name(value, qualified=len(names[value.name]) > 1) for index, value in application.submission.items()
        }

    def reference(self, index: int, type_: str, line: int) -> str:
        """Return the reference `${name}` to a submission-time value, and record the type that this use requires.

        Raises:
            AdlError: the file has no submission-time value with this index.
        """
        if index not in self._values:
            message = f"there is no <submissionTimeValue> with the index {index}"
            raise AdlError(message, line)
        self._types[index] = type_
        return f"${{{self._names[index]}}}"

    def document(self) -> dict[str, Any]:
        """Return the submission-time values as the document's entry `submission`.

        A value that the plan does not depend on is optional, since it has no effect here. A default that does not have
        the required type is left out. Values with one name are one entry, with the type that the plan requires.
        """
        entries: dict[str, Any] = {}
        for index, value in sorted(self._values.items()):
            type_ = self._types.get(index, "rstring")
            default = None if value.default is None else _literal(unquoted(value.default), type_)
            if default is None and index not in self._types:
                default = ""
            entry = {"type": type_} if default is None else {"type": type_, "default": default}
            if entries.get(self._names[index], {}).get("type", "rstring") == "rstring":
                entries[self._names[index]] = entry
        return entries


def _name(value: SubmissionTimeValue, *, qualified: bool) -> str:
    name = f"{value.composite.rpartition('::')[2]}_{value.name}" if qualified else value.name
    return "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)


def _literal(text: str, type_: str) -> Any:
    if type_ not in _NUMBERS:
        return text
    try:
        return _NUMBERS[type_](text)
    except ValueError:
        return None


def annotations_of(instance: AdlInstance, submission: AdlSubmission) -> dict[str, Any]:
    """Return the annotations of an instance, except `parallel`, as a spec's entry `annotations`.

    Unknown annotations and keys are left out. The types that submission-time values need are recorded.

    Raises:
        AdlError: a value does not have the type of its key, or its submission-time value does not exist.
    """
    annotations: dict[str, Any] = {}
    for each in instance.annotations:
        if each.tag == "autonomous":
            annotations["autonomous"] = True
        elif each.tag in _ANNOTATIONS:
            keys = _ANNOTATIONS[each.tag]
            annotations[each.tag] = {
                key: _value(value, keys[key], submission, instance.line)
                for key, value in each.values.items()
                if key in keys
            }
    return annotations


def _value(value: AnnotationValue, type_: type, submission: AdlSubmission, line: int) -> Any:
    if value.submission is not None:
        return submission.reference(value.submission, _TYPES.get(type_, "rstring"), line)
    text = unquoted(value.text)
    if type_ is bool:
        return text == "true"
    try:
        return type_(text)
    except ValueError as error:
        message = f"{text!r} is not {'a number' if type_ is float else 'an integer'}"
        raise AdlError(message, line) from error
