"""Output functions of XMLParse and CharacterTransform, which are parameters here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from streams_orchestration.spl.language.walking import TreeNode, rewritten
from streams_orchestration.spl.models.invocations import Assigned
from streams_orchestration.spl.typing.spans import Mistake
from streams_orchestration.spl.typing.typed import Constant, Expression, OutputCall, PortAttribute

_PATHS = {"XPath": "paths", "XPathList": "pathLists"}
"""Output function -> the parameter that has its paths."""


@dataclass
class XmlPaths:
    """The paths in the output clauses of one XMLParse, whose values are columns here, each with a name.

    Attributes:
        label: the name of the input port.
        mistakes: the list that gets a mistake for each call that does not run here.
        found: for each parameter and output port, the paths by name.
    """

    label: str
    mistakes: list[Mistake]
    found: dict[str, list[dict[str, str]]] = field(default_factory=dict[str, "list[dict[str, str]]"])

    def without_calls(self, values: Sequence[Assigned]) -> list[Assigned]:
        """Return the assignments of the next output port with columns in place of calls of output functions.

        Note the paths of the calls in `found`, and report calls that do not run here.
        """
        for name in _PATHS.values():
            self.found.setdefault(name, []).append({})
        return [replace(each, value=self._without_calls(each.value)) for each in values]

    def _without_calls(self, value: Expression) -> Expression:

        def change(node: TreeNode) -> Expression | None:
            if not isinstance(node, OutputCall):
                return None
            match node.arguments:
                case (Constant(value=str(path)),) if node.name in _PATHS:
                    paths = self.found[_PATHS[node.name]][-1]
                    known = next((name for name, each in paths.items() if each == path), None)
                    name = known or f"{node.name}{len(paths) + 1}"
                    paths[name] = path
                    return PortAttribute(node.span, node.type, self.label, name)
                case (inner,) if node.name == "AsIs":
                    return rewritten(inner, change)
                case _:
                    message = f"{node.name} runs with one constant path only, without a second argument"
                    self.mistakes.append(Mistake("SO0734", message, node.span))
                    return None

        return rewritten(value, change)

    def parameters(self) -> dict[str, list[dict[str, str]]]:
        """Return the parameters with paths, without empty ones."""
        return {name: maps for name, maps in self.found.items() if any(maps)}


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
