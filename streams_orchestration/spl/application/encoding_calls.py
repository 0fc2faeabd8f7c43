"""Output functions of CharacterTransform, which are a parameter here: the encodings of each converted attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from streams_orchestration.spl.application.xml_output import XmlPaths
from streams_orchestration.spl.models.invocations import Assigned
from streams_orchestration.spl.typing.typed import Constant, Expression, Mistake, OutputCall


@dataclass
class Encodings:
    """The encodings in the output clause of one CharacterTransform.

    Attributes:
        mistakes: the list that gets a mistake for each call whose encodings are not constants.
        found: the encodings by attribute.
    """

    mistakes: list[Mistake]
    found: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])

    def without_calls(self, values: Sequence[Assigned]) -> list[Assigned]:
        """Return the assignments with the converted values in place of the calls of `Convert`; note their encodings."""
        return [replace(each, value=self._without_call(each.attribute, each.value)) for each in values]

    def _without_call(self, attribute: str, value: Expression) -> Expression:
        match value:
            case OutputCall(name="AsIs", arguments=(inner,)):
                return inner
            case OutputCall(name="Convert", arguments=(Constant(value=str(source)), Constant(value=str(target)), data)):
                self.found[attribute] = [source, target]
                return data
            case OutputCall(name="Convert"):
                self.mistakes.append(Mistake("SO0734", "the encodings of Convert are constants here", value.span))
                return value
            case _:
                return value

    def parameters(self) -> dict[str, Any]:
        """Return the parameter with the encodings; nothing if no attribute is converted."""
        return {"convert": self.found} if self.found else {}


def output_calls(kind: str, label: str, mistakes: list[Mistake]) -> XmlPaths | Encodings | None:
    """Return the conversion of an operator's output functions to parameters; None if they are expressions here.

    `label` is the name of the input port. Mistakes are appended to the list.
    """
    if kind == "XMLParse":
        return XmlPaths(label, mistakes)
    return Encodings(mistakes) if kind == "CharacterTransform" else None
