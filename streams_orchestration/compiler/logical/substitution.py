"""Submission-time values, which replace `${name}` (rules 6, 7, 32; A5)."""

from __future__ import annotations

import re
from typing import Any

from streams_orchestration.compiler.options import Options
from streams_orchestration.model.application import Application
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.element import Element
from streams_orchestration.model.names import nearest
from streams_orchestration.model.programs import CONSTANTS, is_fixed, is_program
from streams_orchestration.model.secrets import shown

CHANNEL_FUNCTIONS = (
    *("getChannel", "getMaxChannels", "getLocalChannel", "getLocalMaxChannels"),
    *("getAllChannels", "getAllMaxChannels"),
)
SECRETS = ("env:", "file:")
"""The beginnings of a `${...}` that refers to a secret, which the operator reads itself."""
_PLACEMENT_FUNCTIONS = ("byChannel", "byReplica")
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_CALL = re.compile(r"\s*(\w+)\(\s*\)\s*")
_PLACEMENT_CALL = re.compile(r"(?<![\w.{])(byChannel|byReplica)\s*\(\s*\)")


class Substitution:
    """The submission-time values of one compilation, and the diagnostics of their use."""

    def __init__(self, application: Application, options: Options, diagnostics: list[Diagnostic]) -> None:
        self.values: dict[str, Any] = {}
        """Name -> submission-time value, for every name that the application declares; None for a missing value,
        already reported."""
        self.used: set[str] = set()
        self.diagnostics = diagnostics
        parts = {name.rpartition(".")[2] for name in application.submission}
        self._submission = {
            name: options.submission[given]
            for name in application.submission
            for given in (name if name in options.submission else name.rpartition(".")[2],)
            if given in options.submission
        }
        """The given values. A value that composites of SPL share only by name is given to each of them."""
        for name in options.submission:
            if name not in application.submission and name not in parts:
                message = f"there is no submission-time value {name}{nearest(name, application.submission)}"
                diagnostics.append(Diagnostic.of("SO0204", message))
        for name, value in application.submission.items():
            location = application.location("submission", name)
            self.values[name] = value.default
            if name in self._submission:
                try:
                    self.values[name] = value.parse(self._submission[name])
                except ValueError:
                    given = shown(name, self._submission[name])
                    message = f"{name} is of type {value.type}, but {given!r} is not"
                    diagnostics.append(Diagnostic.of("SO0203", message, location=location))
            elif value.default is None:
                message = f"{name} ({value.type}) has no default; give it with --set {name}=VALUE"
                diagnostics.append(Diagnostic.of("SO0202", message, location=location))
            if value.type == "float64" and isinstance(self.values[name], int):
                self.values[name] = float(self.values[name])

    def is_default(self, name: str) -> bool:
        """Return True if a value comes from its declaration, not from the submission."""
        return name not in self._submission

    def value(self, value: Any, element: Element, *path: str | int, operator: str, channels: bool = True) -> Any:
        """Return a parameter or text with every `${name}` replaced; channel functions and references to secrets stay.

        A text that is a single reference becomes the value with its type. If `channels` is False, channel functions
        are errors. Wrong references are reported; a reference to an unknown or missing value becomes None, which is
        the word `None` within a longer text, and other wrong ones stay. Of SPL programs only the constants change.
        """
        if isinstance(value, str):
            return self._text(value, element, path, operator, channels=channels)
        if is_program(value):
            return self._logic(value, element, *path, operator=operator)
        if is_mapping(value):
            return {
                str(key): self._logic(entry, element, *path, str(key), operator=operator)
                if is_fixed(key, entry)
                else self.value(entry, element, *path, str(key), operator=operator, channels=channels)
                for key, entry in value.items()
            }
        if is_list(value):
            return [
                self.value(entry, element, *path, position, operator=operator, channels=channels)
                for position, entry in enumerate(value)
            ]
        return value

    def _logic(self, value: dict[str, Any], element: Element, *path: str | int, operator: str) -> dict[str, Any]:
        """Return SPL logic or an SPL expression, whose constants get submission-time values in place of references.

        The program of a window becomes the window's text, see `_window`.
        """
        constants = value.get(CONSTANTS)
        if constants is None:
            return value
        given = value | {CONSTANTS: self.value(constants, element, *path, CONSTANTS, operator=operator)}
        return self._window(given, element, path, operator) if "window" in path else given

    def _window(self, program: dict[str, Any], element: Element, path: tuple[str | int, ...], operator: str) -> Any:
        """Return the text of a window that a program gives; the program itself if a value is missing or wrong.

        A wrong value is reported.
        """
        if None in program[CONSTANTS].values():
            return program
        from streams_orchestration.operators.expressions.spl.constants import value_of_program

        try:
            return value_of_program(program)
        except ValueError as error:
            self.report("SO0203", f"the window cannot be computed: {error}", operator, element, *path)
            return program

    def annotation(self, value: Any, element: Element, key: str, operator: str) -> tuple[Any, str]:
        """Return an annotation's value and the name of its submission-time value, empty for a literal (A5).

        The value is None if it is missing or unknown, or if a function is called for it, which is reported. The name
        is empty for an unknown value, too.
        """
        if not isinstance(value, str):
            return value, ""
        match = _REFERENCE.fullmatch(value)
        if match is None:
            return value, ""
        if _CALL.fullmatch(match.group(1)):
            message = f"{match.group(1)} cannot be used in an annotation"
            self.report("CDISP0682E", message, operator, element, key)
            return None, ""
        name = match.group(1).strip()
        return self._named(name, element, (key,), operator), name if name in self.values else ""

    def number(
        self, value: Any, element: Element, key: str, operator: str, *, integer: bool = False
    ) -> tuple[Any, str]:
        """Return an annotation's number and the name of its submission-time value, like `annotation`.

        The number is an int if `integer` is True, else a float. A value of another type is reported (CDISP0811E) and
        becomes None.
        """
        resolved, origin = self.annotation(value, element, key, operator)
        fits = isinstance(resolved, int) if integer else isinstance(resolved, int | float)
        if resolved is not None and (not fits or isinstance(resolved, bool)):
            message = f"{key} is {'an int32' if integer else 'a float64'}, and {origin or value!r} is not"
            self.report("CDISP0811E", message, operator, element, key)
            return None, origin
        return resolved if resolved is None or integer else float(resolved), origin

    def boolean(self, value: Any, element: Element, key: str, operator: str) -> bool | None:
        """Return a truth value of a config or annotation; None if its submission-time value is missing or no boolean.

        Both faults are reported.
        """
        resolved, origin = self.annotation(value, element, key, operator)
        if resolved is None or isinstance(resolved, bool):
            return resolved
        self.report("SO0009", f"{key} is true or false, and {origin or value!r} is not", operator, element, key)
        return None

    def _text(self, text: str, element: Element, path: tuple[str | int, ...], operator: str, *, channels: bool) -> Any:
        misplaced = _PLACEMENT_CALL.search(text)
        if misplaced is not None:
            message = f"{misplaced.group(1)}() belongs in a placement config"
            self.report("CDISP0116E", message, operator, element, *path)
        if "${" not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            result = self._reference(match, element, path, operator, channels=channels)
            return str(result).lower() if isinstance(result, bool) else str(result)

        whole = _REFERENCE.fullmatch(text)
        if whole is not None:
            return self._reference(whole, element, path, operator, channels=channels)
        return _REFERENCE.sub(replace, text)

    def _reference(
        self,
        match: re.Match[str],
        element: Element,
        path: tuple[str | int, ...],
        operator: str,
        *,
        channels: bool,
    ) -> Any:
        if match.group(1).startswith(SECRETS):
            return match.group(0)
        call = _CALL.fullmatch(match.group(1))
        if call is None:
            return self._named(match.group(1).strip(), element, path, operator)
        name = call.group(1)
        if name in CHANNEL_FUNCTIONS and channels:
            return "${" + name + "()}"
        if name in CHANNEL_FUNCTIONS:
            self.report("SO0205", f"{name}() is not known here", operator, element, *path)
        elif name in _PLACEMENT_FUNCTIONS:
            self.report(
                "CDISP0116E", f"{name}() belongs in a placement config, without ${{}}", operator, element, *path
            )
        else:
            near = nearest(name, CHANNEL_FUNCTIONS)
            self.report("SO0206", f"there is no function {name}(){near}", operator, element, *path)
        return match.group(0)

    def _named(self, name: str, element: Element, path: tuple[str | int, ...], operator: str) -> Any:
        if name not in self.values:
            message = f"there is no submission-time value {name}{nearest(name, self.values)}"
            self.report("SO0201", message, operator, element, *path)
            return None
        self.used.add(name)
        return self.values[name]

    def report(self, code: str, message: str, operator: str, element: Element, *path: str | int) -> None:
        """Report a fault of an operator, or of no operator if its name is empty, at a path within an element."""
        self.diagnostics.append(Diagnostic.of(code, message, operator=operator, location=element.location(*path)))
