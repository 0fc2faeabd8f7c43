"""Windows of invocations: checks against the operator, and conversion to the texts of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streams_orchestration.spl.application.values import ConstantReader, UnknownValue, constant
from streams_orchestration.spl.application.window_texts import WindowText
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Invocation, Labelled
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.models.operators import SplOperatorModel
from streams_orchestration.spl.types.types import FLOAT64, INTEGERS, REALS, TIMESTAMP, UNKNOWN
from streams_orchestration.spl.typing.checking import check_expression
from streams_orchestration.spl.typing.scopes import Port, port_scope
from streams_orchestration.spl.typing.spans import Report
from streams_orchestration.spl.typing.typed import Expression, PortAttribute

_KINDS = ("tumbling", "sliding")
_POLICIES = {"count": 1, "time": 1, "delta": 2, "punct": 0}
"""Policy of a window -> its number of arguments."""
_PARTITIONS = {"partitionAge": 1, "partitionCount": 1, "tupleCount": 1}
_EVENT_TIME = frozenset(("timeInterval", "session", "calendar", "eventTime"))
"""First words of window clauses that belong to event time, which the compiler checks."""
_KEYS = {
    "Aggregate": ("partitionBy",),
    "Sort": ("partitionBy",),
    "Join": ("partitionByLHS", "partitionByRHS"),
}
"""Operator -> for each input port, the parameter by which its windows are partitioned."""
_PLACES = ("kind", "policy", "partitioned", "partitions")
_CHOICE = "a window is 'tumbling, count(10)', 'sliding, time(60.0), count(1)', or the like"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a window clause: a word, or a policy with its arguments."""

    written: tree.Expression
    name: str
    arguments: tuple[tree.Expression, ...] | None

    @property
    def place(self) -> str:
        if self.arguments is None:
            return "kind" if self.name in _KINDS else "partitioned" if self.name == "partitioned" else ""
        return "policy" if self.name in _POLICIES else "partitions" if self.name in _PARTITIONS else ""


class WindowReading:
    """A reader of the window clauses of one invocation of a primitive operator."""

    def __init__(
        self,
        invocation: Invocation,
        model: SplOperatorModel | None,
        inputs: tuple[Port, ...],
        reader: ConstantReader,
        report: Report,
    ) -> None:
        self.invocation = invocation
        self.model = model or SplOperatorModel("")
        self.inputs = inputs
        self.reader = reader
        self.report = report

    def of_standard(self) -> dict[str, Any]:
        """Return the parameter `window` of a standard operator as a mapping with this one key; report mistakes.

        Its value is a list for a Join, otherwise the first window. The mapping is empty without a window.
        """
        texts = self.texts()
        several = self.model.name == "Join"
        return {"window": texts if several else next(each for each in texts if each)} if any(texts) else {}

    def of_native(self) -> dict[str, Any]:
        """Return the parameter `window` of a native operator as a mapping with this one key; empty without a window.

        Its value is a list if the operator has several input ports, empty for a port without a window. Mistakes in
        arguments are reported.
        """
        texts = {each.label.name: WindowText(self.reader).plain(each.values) for each in self.invocation.windows}
        by_port = [
            next((texts[name] for name in (port.label, *port.names) if name in texts), "") for port in self.inputs
        ]
        return {"window": by_port if len(by_port) > 1 else next(iter(texts.values()))} if texts else {}

    def texts(self) -> list[Any]:
        """Return the window of each input port, a text or a program; report mistakes.

        It is empty for a port without a window, or with a faulty one.
        """
        found: list[Any] = [""] * len(self.inputs)
        missing = True
        for window in self.invocation.windows:
            label = window.label
            number = next((n for n, port in enumerate(self.inputs) if label.name in (port.label, *port.names)), None)
            if number is None:
                self.report("CDISP0053E", f"{self.model.name} has no input port {label} here", label)
                missing = False  # the label may be meant for the port without a window
                continue
            kind = self.model.input(number)
            if kind is not None and kind.windowing == "never":
                self.report("CDISP0224E", f"{self.model.name} has no window at its input port {label}", label)
                continue
            found[number] = self._text(window, number)
        for number, port in enumerate(self.inputs):
            kind = self.model.input(number)
            labels = (port.label, *port.names)
            if kind is None or kind.windowing != "always" or not missing:
                continue
            if not any(window.label.name in labels for window in self.invocation.windows):
                message = f"{self.model.name} needs a window for its input port {port.label}; {_CHOICE}"
                self.report("CDISP0224E", message, self.invocation.operator)
        return found

    def _text(self, window: Labelled, number: int) -> Any:
        parts = [_part(each) for each in window.values]
        if any(part.name in _EVENT_TIME for part in parts):
            return WindowText(self.reader).of(window.values)
        if False in [self._check_part(part, self.inputs[number]) for part in parts]:
            return ""
        policies = [part for part in parts if part.place == "policy"]
        kinds = [part for part in parts if part.place == "kind"]
        partitioned = [part for part in parts if part.place == "partitioned"]
        partitions = [part for part in parts if part.place == "partitions"]
        kind = kinds[0].name if kinds else "sliding" if len(policies) > 1 else "tumbling"
        if not policies:
            self.report("SO0706", f"a {kind} window has a policy, such as count(10)", window.label)
            return ""
        limits = ((kinds, 1), (policies, 2 if kind == "sliding" else 1), (partitioned, 1), (partitions, 1))
        extra = [each for several, most in limits for each in several[most:]]
        if extra:
            written = ", ".join(text_of(each) for each in window.values)
            self.report("SO0706", f"{text_of(extra[0].written)} is superfluous in '{written}'", extra[0].written)
            return ""
        if partitions and not partitioned:
            message = f"{partitions[0].name} needs 'partitioned' before it"
            self.report("SO0706", message, partitions[0].written)
            return ""
        places = [_PLACES.index(part.place) for part in parts]
        if places != sorted(places):
            self.report("CDISP0747W", "write the kind first, then policies, then 'partitioned'", parts[0].written)
        if not (self._suits(kind, kinds, policies, number) and self._goes_with_keys(partitioned, number)):
            return ""
        ordered = [*(policies[:1] if self.model.name == "Sort" else policies), *partitioned, *partitions]
        return WindowText(self.reader, self.inputs[number]).of([part.written for part in ordered], kind)

    def _check_part(self, part: _Part, port: Port) -> bool:
        """Return True if a part of the clause has a known name and the right arguments; otherwise report a mistake.

        A delta over a decimal is reported as well, and gives True. Arguments of unknown type give False.
        """
        if not part.place:
            self.report("SO0706", f"{text_of(part.written)} is not a part of a window; {_CHOICE}", part.written)
            return False
        if part.arguments is None:
            return True
        wanted = (_POLICIES | _PARTITIONS)[part.name]
        if len(part.arguments) != wanted:
            given = len(part.arguments)
            self.report("SO0706", f"{part.name} of a window takes {wanted} arguments, not {given}", part.written)
            return False
        scope = port_scope(self.reader.scope, (port,)) if part.name == "delta" else self.reader.scope
        before = len(self.reader.mistakes)
        values = [check_expression(each, scope, self.reader.source, self.reader.mistakes) for each in part.arguments]
        if len(self.reader.mistakes) > before or UNKNOWN in [each.type for each in values]:
            return False
        message = self._wrong_arguments(part, values)
        if message:
            self.report("SO0706", message, part.written)
        return not message

    def _wrong_arguments(self, part: _Part, values: list[Expression]) -> str:
        """Return the message about wrong arguments of a policy; empty if they are right, or not known yet."""
        shown = text_of(part.written)
        if part.name == "delta":
            attribute, amount = values
            if not isinstance(attribute, PortAttribute):
                return f"{shown}: the first argument is an attribute of the input port"
            wanted = FLOAT64 if attribute.type == TIMESTAMP else attribute.type
            if attribute.type not in REALS and attribute.type != TIMESTAMP:
                return f"{shown}: {attribute.name} is {attribute.type}, not a number or timestamp"
            return "" if amount.type == wanted else f"{shown}: the amount is {amount.type}, but {wanted} is needed"
        if not values:
            return ""
        [value] = values
        if value.type not in (REALS if part.name in ("time", "partitionAge") else INTEGERS):
            return (
                f"{shown}: {value.type} is not {'a number' if part.name in ('time', 'partitionAge') else 'an integer'}"
            )
        least = 0 if part.name == "count" and self.model.name == "Join" else 1 if part.name != "time" else 0
        try:
            known = constant(value)
        except UnknownValue:
            return ""
        if isinstance(known, int | float) and known < least:
            return f"{shown}: the number is at least {least}"
        return ""

    def _suits(self, kind: str, kinds: list[_Part], policies: list[_Part], number: int) -> bool:
        """Return True if the operator allows a window of this kind and these policies; otherwise report a mistake."""
        name = self.model.name
        at: tree.Node = kinds[0].written if kinds else policies[0].written
        message = ""
        punctuated = next((each for each in policies if each.name == "punct"), None)
        if kind == "sliding" and punctuated is not None:
            message, at = "a sliding window has no policy punct()", punctuated.written
        elif name == "Join" and kind != "sliding":
            message = "Join has sliding windows only"
        elif name == "Sort" and len(policies) > 1 and not self._is_every_tuple(policies[1]):
            message, at = "a trigger of Sort is count(1)", policies[1].written
        elif name == "Join" and len(policies) > 1:
            message, at = "Join has no trigger", policies[1].written
        elif name == "Sort" and kind == "sliding" and policies[0].name != "count":
            message, at = "a sliding window of Sort is count(n)", policies[0].written
        elif len(policies) > 1 and policies[1].name == "punct":
            message, at = "punct() is not a trigger", policies[1].written
        if message:
            self.report("SO0706", f"{message} (input port {self.inputs[number].label})", at)
        return not message

    def _is_every_tuple(self, trigger: _Part) -> bool:
        """Return True if a trigger is count(1), or a count that is not known at compile time."""
        try:
            values = [self.reader.value(each) for each in trigger.arguments or ()]
        except UnknownValue:
            return trigger.name == "count"
        return trigger.name == "count" and values == [1]

    def _goes_with_keys(self, partitioned: list[_Part], number: int) -> bool:
        """Report a partitioned window without keys, and keys without a partitioned window; return False for either."""
        names = _KEYS.get(self.model.name)
        if names is None or number >= len(names):
            return True
        keys = next((each for each in self.invocation.arguments if each.label.name == names[number]), None)
        if partitioned and keys is None:
            message = f"{self.model.name} needs the parameter {names[number]}, since its window is partitioned"
            self.report("CDISP0208E", message, self.invocation.operator)
        elif keys is not None and not partitioned:
            self.report("SO0706", f"{names[number]} needs a partitioned window", keys.label)
        else:
            return True
        return False


def _part(written: tree.Expression) -> _Part:
    if isinstance(written, tree.Call) and isinstance(written.function, tree.Name):
        return _Part(written, written.function.name, written.arguments)
    return _Part(written, text_of(written), None)
