"""Declarations of native operators, as entries of `operators` in a document.

The model in the toolkit gives the properties of an operator's ports, and the companion names its Python class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams_orchestration.model.document import LocatedMapping
from streams_orchestration.spl.application.located import located
from streams_orchestration.spl.language.definitions import Invocation
from streams_orchestration.spl.models.operators import SplOperatorModel, toolkit_operator
from streams_orchestration.spl.types.columns import beyond_column
from streams_orchestration.spl.typing.scopes import Port
from streams_orchestration.spl.typing.spans import Report, Source


class NativeOperators:
    """The native operators of an application, as the entry `operators` of a document.

    Attributes:
        declared: the declarations by name with namespace.
    """

    def __init__(self, given: Mapping[str, str | LocatedMapping], companion: str) -> None:
        """Make an empty collection.

        Args:
            given: the entries of the companion, a class or keys of a declaration, by name with namespace.
            companion: the name of the companion file, for messages.
        """
        self.given = given
        self.companion = companion
        self.declared: dict[str, LocatedMapping] = {}

    def declare(
        self, kind: str, model: SplOperatorModel | None, invocation: Invocation, source: Source, report: Report
    ) -> None:
        """Declare the native operator of an invocation; an operator without a Python class is reported once.

        It has as many ports as the invocation with the most, and their properties come from the model. Ports that the
        companion declares take precedence.
        """
        own = self._own(kind)
        given = self.given.get(kind) if own is None else own.implementation
        made = _declaration(invocation, model, given, source, stateful=own is None or own.stateful)
        known = self.declared.setdefault(kind, made)
        for side in ("inputs", "outputs"):
            said = isinstance(given, LocatedMapping) and side in given
            if not said and len(made.get(side, ())) > len(known.get(side, ())):
                known[side] = made[side]
        if known is made and "implementation" not in made:
            message = (
                f"{kind} is a native operator without Python, so the application cannot run; "
                f"name a class in {self.companion}: operators: {{{kind}: package.module:Class}}"
            )
            report("SO0710", message, invocation.operator)

    def _own(self, kind: str) -> SplOperatorModel | None:
        """Return the model of an operator that is implemented here, or None for any other operator.

        It is None, too, if the companion has an entry for the operator.
        """
        return None if kind in self.given else toolkit_operator(kind)

    def types_of_ports(self, kind: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> dict[str, str]:
        """Return the parameters with types of attributes that columns cannot express.

        They are about the first input port and the first output port. Only an operator that is implemented here has
        such parameters.
        """
        if self._own(kind) is None:
            return {}
        types = {
            side: beyond_column(ports[0].type)
            for side, ports in (("inputTypes", inputs), ("outputTypes", outputs))
            if ports
        }
        return {side: str(type_) for side, type_ in types.items() if type_.attributes}


def is_mutable(kind: str, model: SplOperatorModel | None, number: int) -> bool:
    """Return True if the operator's logic may change the tuples of an input port: of a Custom, or by the model."""
    port = None if model is None else model.input(number)
    return kind == "Custom" or (port is not None and port.mutable)


def _declaration(
    invocation: Invocation,
    model: SplOperatorModel | None,
    given: str | LocatedMapping | None,
    source: Source,
    *,
    stateful: bool,
) -> LocatedMapping:
    ports = {
        "inputs": [_input(model, number) for number in range(len(invocation.inputs))],
        "outputs": [_output(model, number) for number in range(len(invocation.outputs))],
        "stateful": stateful,
    }
    if isinstance(given, str):
        ports = {"implementation": given, **ports}
    made: LocatedMapping = located(source, invocation.operator, ports)
    return _with(made, given) if isinstance(given, LocatedMapping) else made


def _with(made: LocatedMapping, given: LocatedMapping) -> LocatedMapping:
    """Return a declaration merged with the companion's keys, which take precedence and keep their places."""
    whole = LocatedMapping(given.file, given.line, given.column)
    for key, value in (made | given).items():
        whole[key] = value
        whole.lines[key] = given.lines.get(key, given.line)
        whole.columns[key] = given.columns.get(key, given.column)
    return whole


def _input(model: SplOperatorModel | None, number: int) -> dict[str, Any]:
    port = None if model is None else model.input(number)
    entry: dict[str, Any] = {"mutable": port is not None and port.mutable}
    if port is not None and port.control:
        entry["control"] = True
    return entry


def _output(model: SplOperatorModel | None, number: int) -> dict[str, Any]:
    port = None if model is None else model.output(number)
    entry: dict[str, Any] = {"mutable": True}
    if port is not None and port.marks != "Free":
        entry["generatesWindowPunctuation" if port.marks == "Generating" else "preservesWindowPunctuation"] = True
    return entry
