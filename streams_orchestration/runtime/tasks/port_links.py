"""The Imports and Exports at the ports of an operator whose program changes them while it runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from streams_orchestration.compiler.pe_program import LinksAt
from streams_orchestration.model.subscription import check_properties, parse_subscription
from streams_orchestration.operators.expressions.evaluation import condition_of
from streams_orchestration.runtime.programs.batches import LinkChange
from streams_orchestration.spl.programs.errors import DONE, NO_PORT, WRONG


class ChangeableLinks:
    """The Imports and Exports of one operator, as they are after the changes of its program.

    A change is part of the batch in which the program makes it: it counts when the batch is committed.
    """

    def __init__(self, declared: LinksAt, zone: dt.tzinfo) -> None:
        self._declared = declared
        self._zone = zone
        self.load(())

    def load(self, changes: Iterable[LinkChange]) -> None:
        """Begin a batch with the declared Imports and Exports, changed as earlier batches have changed them."""
        imports, exports = self._declared.imports, self._declared.exports
        self._imports = {
            port: LinkChange(each.name, port, each.subscription, each.filter) for port, each in imports.items()
        }
        self._exports = {
            port: LinkChange(each.name, port, stream=each.stream, properties=each.properties)
            for port, each in exports.items()
        }
        self._changed: dict[tuple[bool, int], LinkChange] = {}
        self.is_changed = False
        for each in changes:
            self._set(each)
        self.is_changed = False

    def changes(self) -> list[LinkChange]:
        """Return the Imports and Exports that this batch and earlier batches have changed."""
        return [*self._changed.values()]

    def _set(self, change: LinkChange) -> None:
        (self._exports if change.stream else self._imports)[change.port] = change
        self._changed[bool(change.stream), change.port] = change
        self.is_changed = True

    def subscription(self, port: int) -> str | None:
        """Return the subscription of an Import; None for an Import of a named stream and a port without an Import."""
        return None if port not in self._imports else self._imports[port].subscription

    def subscribe(self, port: int, subscription: str) -> int:
        """Change the subscription of an Import, and remove its filter, and return `DONE`.

        Change nothing for a port without a subscription (`NO_PORT`), or for a text that is not one (`WRONG`).
        """
        if self.subscription(port) is None:
            return NO_PORT
        try:
            text = _read(subscription, "subscription")
            parse_subscription(text)
        except ValueError:
            return WRONG
        self._set(replace(self._imports[port], subscription=text, filter=None))
        return DONE

    def filter(self, port: int) -> str | None:
        """Return the filter of an Import, empty if there is none; None for a port without an Import."""
        return None if port not in self._imports else self._imports[port].filter or ""

    def filter_by(self, port: int, condition: str) -> int:
        """Change the filter of an Import, or remove it if the text is empty, and return `DONE`.

        Change nothing for a port without an Import (`NO_PORT`), or for a text that is not a filter (`WRONG`).
        """
        if port not in self._imports:
            return NO_PORT
        text = None
        if condition.strip():
            try:
                text = _read(condition, "filter")
                condition_of(text, self._declared.imports[port].schema, self._zone)
            except ValueError:
                return WRONG
        self._set(replace(self._imports[port], filter=text))
        return DONE

    def properties(self, port: int) -> dict[str, Any] | None:
        """Return the properties of an Export; None for a port without an Export."""
        return None if port not in self._exports else self._exports[port].properties

    def offer(self, port: int, properties: dict[str, Any]) -> int:
        """Change the properties of an Export, and return `DONE`.

        Change nothing for a port without an Export (`NO_PORT`), or for properties that cannot be used (`WRONG`).
        """
        if port not in self._exports:
            return NO_PORT
        if check_properties(properties) is not None:
            return WRONG
        self._set(replace(self._exports[port], properties=properties))
        return DONE


def _read(text: str, name: str) -> str:
    """Return a subscription or filter of SPL in the form of an Import's parameter."""
    from streams_orchestration.spl.application.subscriptions import subscription_text
    from streams_orchestration.spl.programs.reading import tree_of

    return subscription_text(tree_of(text), name, lambda _code, _message, _node: None)
