"""A page's choices for a compilation, converted to compiler options in the same way as on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import click

from streams_orchestration.compiler.logical_graph import ParallelRegion
from streams_orchestration.compiler.option_types import ASSIGNMENT, CHOICES, PE_CAPACITY, PES, WIDTH
from streams_orchestration.compiler.options import Options
from streams_orchestration.console.responses import WrongRequestError
from streams_orchestration.model.application import Application
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.secrets import without_secrets

MAX_ENTRIES = 200
"""The most entries in each mapping of choices, and most characters of a name or text."""
TYPES: Mapping[str, click.ParamType[Any]] = {
    "fusion": CHOICES["fusion"],
    "pes": PES,
    "pe_capacity": PE_CAPACITY,
    "channel_fusion": CHOICES["channel_fusion"],
    "threading": CHOICES["threading"],
}
"""Field of `Options` -> the type that converts its text. Widths, submission-time values and `faithful` are converted
separately."""
LABELS = {
    "fusion": "Fusion",
    "pes": "Target number of PEs",
    "pe_capacity": "PE capacity (processors)",
    "channel_fusion": "Channel fusion",
    "threading": "Threading",
}


class ChoiceError(WrongRequestError):
    """A page's choice is not possible, mostly with the message of the command line."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a user as texts; an option without a choice stays unchanged."""

    submission: Mapping[str, str] = field(default_factory=dict[str, str])
    """Submission-time value -> text."""
    widths: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parallel region -> width."""
    plain: Mapping[str, str] = field(default_factory=dict[str, str])
    """Field of `Options` -> text; an empty text means the option's default."""
    faithful: bool | None = None

    @classmethod
    def of(cls, document: object) -> Choices:
        """Read choices from JSON: `{"set": {}, "width": {}, "options": {}, "faithful": true}`; each may be left out.

        Raises:
            ChoiceError: the document has another form.
        """
        if not is_mapping(document) or document.keys() - {"set", "width", "options", "faithful"}:
            message = "The choices must be a mapping with the keys set, width, options and faithful."
            raise ChoiceError(message)
        faithful = document.get("faithful")
        if faithful is not None and not isinstance(faithful, bool):
            message = "`faithful` must be true or false."
            raise ChoiceError(message)
        plain = _texts(document, "options")
        if unknown := plain.keys() - TYPES.keys():
            message = f"there is no option {min(unknown)}; the options are {', '.join(TYPES)}."
            raise ChoiceError(message)
        return cls(_texts(document, "set"), _texts(document, "width"), plain, faithful)

    def options(self, base: Options, application: Application) -> Options:
        """Return the options of the compilation: the base, changed by the choices.

        Args:
            base: the options without any choice.
            application: the application, which declares the types of the values.

        Raises:
            ChoiceError: the command line would refuse a choice, or it changes a value of type rstring, which could
                name a file.
        """
        submission = dict(base.submission)
        for name, text in self.submission.items():
            declared = application.submission.get(name)
            if declared is not None and declared.type == "rstring" and base.submission.get(name) != text:
                message = (
                    f"{name} is a text, which could name a file, so the page cannot set it. Start the console with "
                    f"--set {name}=VALUE."
                )
                raise ChoiceError(message)
            submission |= [_converted("--set", ASSIGNMENT, f"{name}={text}")]
        widths = [_converted("--width", WIDTH, f"{region}={text}") for region, text in self.widths.items()]
        changed: dict[str, Any] = {} if self.faithful is None else {"faithful": self.faithful}
        for name, text in self.plain.items():
            flag = f"--{name.replace('_', '-')}"
            changed[name] = _converted(flag, TYPES[name], text) if text else getattr(Options(), name)
        return replace(base.with_widths(widths), submission=submission, **changed)


def _texts(document: Mapping[str, Any], key: str) -> dict[str, str]:
    texts: object = document.get(key, {})
    if not is_mapping(texts) or len(texts) > MAX_ENTRIES:
        message = f"{key} must be a mapping of at most {MAX_ENTRIES} names."
        raise ChoiceError(message)
    for name, text in texts.items():
        if not isinstance(text, str) or max(len(name), len(text)) > MAX_ENTRIES:
            message = f"{key}: {name[:MAX_ENTRIES]}: a text of at most {MAX_ENTRIES} characters is expected."
            raise ChoiceError(message)
    return texts


def _converted(flag: str, type_: click.ParamType[Any], text: str) -> Any:
    try:
        return type_.convert(text, None, None)
    except click.BadParameter as error:
        error.param_hint = f"'{flag}'"
        raise ChoiceError(error.format_message()) from error


def controls(application: Application, options: Options, regions: tuple[ParallelRegion, ...] | None) -> dict[str, Any]:
    """Return the controls of a page as a JSON document: each option that can be chosen, with its current value.

    Secrets are masked, and values of type rstring are fixed.

    Args:
        application: the application, as far as its spec could be read.
        options: the options with which it is compiled.
        regions: the parallel regions; None if the application did not compile.
    """
    values = {name: options.submission.get(name, _text(each.default)) for name, each in application.submission.items()}
    shown = without_secrets(values)
    return {
        "set": [
            {"name": name, "type": each.type, "value": shown[name], "fixed": each.type == "rstring"}
            for name, each in application.submission.items()
        ],
        "width": None if regions is None else [{"name": each.name, "value": str(each.width)} for each in regions],
        "options": [
            {
                "name": name,
                "label": LABELS[name],
                "value": _text(getattr(options, name)),
                "choices": _words(type_),
                "optional": getattr(Options(), name) is None,
            }
            for name, type_ in TYPES.items()
        ],
        "faithful": options.faithful,
    }


def _words(type_: click.ParamType[Any]) -> list[str] | None:
    return [str(each) for each in type_.choices] if isinstance(type_, click.Choice) else None


def changed_options(before: Options, now: Options) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, name, old -> new) for each changed option except widths, which the comparison of plans shows.

    Secrets are masked.
    """
    old, new = without_secrets(before.submission), without_secrets(now.submission)
    for name in dict.fromkeys((*old, *new)):
        if before.submission.get(name) != now.submission.get(name):
            yield "value", name, f"{old.get(name, 'as declared')} -> {new.get(name, 'as declared')}"
    for name in (*TYPES, "faithful"):
        if getattr(before, name) != getattr(now, name):
            values = (_text(getattr(each, name)) or "none" for each in (before, now))
            yield "option", f"--{name.replace('_', '-')}", " -> ".join(values)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
