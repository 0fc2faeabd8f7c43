"""Native functions of toolkits: their signatures, and the companion's Python functions for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from streams_orchestration.model.programs import NATIVE
from streams_orchestration.spl.functions.signatures import Signature, UnreadableSignatureError, signature_of_text
from streams_orchestration.spl.language.tree import qualified
from streams_orchestration.spl.models.reading import Prototype, without_names
from streams_orchestration.spl.types.types import UNKNOWN, Type
from streams_orchestration.spl.typing.spans import Mistake, Span
from streams_orchestration.spl.typing.typed import Call

_NAME = re.compile(r"(?:(?P<namespace>[A-Za-z_][\w.]*)::)?(?P<name>[A-Za-z_]\w*)(?:\.(?P<member>[A-Za-z_]\w*))?")
Resolve = Callable[[str, str, str], Type | None]
"""A function from a namespace, a name and a member to a type.

It is the name of a type, with an empty member; or the name of a composite, and the member is a type in the composite.
"""


@dataclass(frozen=True, slots=True)
class CompanionFunction:
    """A native SPL function with the Python function that replaces it.

    The companion file (`Main.spl.yaml`) declares it under `functions`.

    Attributes:
        python: the Python function, `package.module:name`.
        pure: True if a call has no effect besides its result.
        signatures: the signatures, for a function whose toolkit is missing.
    """

    python: str
    pure: bool = False
    signatures: tuple[str, ...] = ()


class Natives:
    """The native functions that an application calls."""

    def __init__(self, given: Mapping[str, CompanionFunction], companion: str) -> None:
        """Make an empty collection of calls to native functions.

        Args:
            given: the functions of the companion, by name with namespace.
            companion: the name of the companion file, for messages.
        """
        self.given = given
        self.companion = companion
        self.mistakes: list[Mistake] = []
        """A mistake for each native function without a Python function or known types, at its first call."""
        self.untyped: list[tuple[Span, Signature]] = []
        """The calls of native functions whose types are unknown."""
        self._reported: set[str] = set()

    def overloads(
        self, namespace: str, name: str, prototypes: tuple[Prototype, ...], resolve: Resolve
    ) -> tuple[Signature, ...]:
        """Return the signatures of the native functions with a name, from a toolkit's model or else the companion.

        Signatures that cannot be read are left out.
        """
        entry = self.given.get(qualified(namespace, name))
        texts = [each.text for each in prototypes]
        if not texts and entry is not None:
            texts = [without_names(each) for each in entry.signatures]
        found: list[Signature] = []
        for text in texts:
            signature = _signature(namespace, text, resolve)
            if signature is not None:
                found.append(replace(signature, native=True, pure=entry is not None and entry.pure))
        return tuple(dict.fromkeys(found))

    def note(self, call: Call) -> None:
        """Record a call of a native function; report a function without Python or known types at its first call."""
        signature = call.signature
        name = signature.full_name
        if signature.result == UNKNOWN:
            self.untyped.append((call.span, signature))
        lacks = name not in self.given
        if name in self._reported or not (lacks or signature.result == UNKNOWN):
            return
        self._reported.add(name)
        message = (
            f"{name} is a native function without Python, so the application cannot run; "
            f"name one in {self.companion}: functions: {{{name}: {{python: package.module:name}}}}"
            if lacks
            else f"the type of {name} is unknown, so the application cannot run; "
            f"declare it in {self.companion}: functions: {{{name}: {{signature: TYPE {signature.name}(TYPE, ...)}}}}"
        )
        self.mistakes.append(Mistake("SO0711", message, call.span))

    def entry(self, signature: Signature, span: Span | None = None) -> dict[str, Any]:
        """Return a native function as an entry of the list `functions` of a program, with its `span`, if given."""
        given = self.given.get(signature.full_name)
        entry: dict[str, Any] = {NATIVE: signature.full_name}
        if signature.result != UNKNOWN:
            entry["signature"] = signature.text
        if given is not None:
            entry["python"] = given.python
            if given.pure:
                entry["pure"] = True
        if span is not None:
            entry["at"] = str(span)
        return entry


def _signature(namespace: str, text: str, resolve: Resolve) -> Signature | None:
    """Return the signature in a text, in which types may be named; None if a type is unknown, or it cannot be read."""
    try:
        return signature_of_text(namespace, text)
    except UnreadableSignatureError:
        pass

    def written_out(match: re.Match[str]) -> str:
        type_ = resolve(match["namespace"] or namespace, match["name"], match["member"] or "")
        return match[0] if type_ is None else str(type_)

    head, bracket, rest = text.partition("(")
    before, _, name = head.rpartition(" ")
    variables = re.match(r"(?:stateful )?(?:<[^>]*> )?(?:\[[^\]]*\] )?", before)
    assert variables is not None
    result = before[variables.end() :]
    resolved = f"{variables[0]}{_NAME.sub(written_out, result)} {name}{bracket}{_NAME.sub(written_out, rest)}"
    try:
        return signature_of_text(namespace, resolved)
    except UnreadableSignatureError:
        return None
