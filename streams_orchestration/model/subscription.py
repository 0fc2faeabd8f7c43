"""Subscriptions of Imports: conditions over the properties that Exports give their streams (rule 34)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from streams_orchestration.model.containers import is_list
from streams_orchestration.model.secrets import shown, without_secrets

SubscriptionCondition = Callable[[Mapping[str, Any]], bool]
"""A predicate over the properties of a stream, whose values are numbers, texts, or lists of numbers and texts."""

MOST_NESTED = 100
"""The most parentheses and exclamation marks within one another."""

_TOKEN = re.compile(
    r"""\s*(?: (?P<text>"[^"]*"|'[^']*') | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
             | (?P<name>[A-Za-z_]\w*) | (?P<sign>&&|\|\||[=!<>]=|[<>!()]) )""",
    re.VERBOSE,
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def parse_subscription(text: str) -> SubscriptionCondition:
    """Parse a subscription such as `kind == "delays" && (level >= 2 || "urgent" in tags)`.

    A comparison is false if the stream lacks the property, or if it compares two of a number, a text and a list, also
    as elements of two lists. With `in`, the right side must be a property with a list.

    Raises:
        ValueError: the text is not a subscription, and the message names the position of the fault; or it has more
            than `MOST_NESTED` parentheses and exclamation marks within one another.
    """
    return _Parser(text).whole()


def is_about(wanted: Mapping[str, Any], importer: str, offered: Mapping[str, Any], exporter: str) -> bool:
    """Return True if an Import matches an Export.

    A subscription matches properties only, never a stream with a `streamId`. An Import by `streamId` means a stream of
    its own application by default, and one with neither matches nothing.

    Args:
        wanted: the parameters of the Import.
        importer: the application with the Import.
        offered: the parameters of the Export.
        exporter: the application with the Export.

    Raises:
        ValueError: the subscription cannot be read.
    """
    if "subscription" in wanted:
        return "streamId" not in offered and parse_subscription(str(wanted["subscription"]))(
            offered.get("properties", {})
        )
    names = (wanted.get("application", importer), wanted.get("streamId"))
    return "streamId" in wanted and names == (exporter, offered.get("streamId"))


def check_properties(properties: Any) -> str | None:
    """Return a message about the first fault in an Export's properties; None if they are right."""
    if not isinstance(properties, Mapping):
        return f"properties are a mapping of names to values, not {without_secrets(properties)!r}"
    for name, value in cast("Mapping[str, Any]", properties).items():
        for each in value if is_list(value) else [value]:
            if isinstance(each, bool) or not isinstance(each, int | float | str):
                wrong = shown(name, each)
                return f"the property {name} is {wrong!r}; numbers, texts and lists of these can be subscribed to"
    return None


class _Parser:
    """Recursive-descent parser of subscriptions: or, and, not, comparison."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._tokens())
        self.at = 0
        self.depth = 0

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        position, end = 0, len(self.text.rstrip())
        while position < end:
            token = _TOKEN.match(self.text, position)
            if token is None or token.lastgroup is None:
                raise self._error(position)
            yield token.lastgroup, token[token.lastgroup], token.start(token.lastgroup)
            position = token.end()
        yield "end", "", end

    def _error(self, position: int) -> ValueError:
        rest = self.text[position:].strip()
        where = f"at {rest!r}" if rest else "at its end"
        return ValueError(f"{self.text!r} is not a subscription: it cannot be read {where}")

    def _take(self, *signs: str) -> str | None:
        if self.tokens[self.at][1] in signs and self.tokens[self.at][0] in ("sign", "name"):
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def whole(self) -> SubscriptionCondition:
        condition = self._or()
        if self.tokens[self.at][0] != "end":
            raise self._error(self.tokens[self.at][2])
        return condition

    def _or(self) -> SubscriptionCondition:
        parts = [self._and()]
        while self._take("||"):
            parts.append(self._and())
        return lambda properties: any(part(properties) for part in parts)

    def _and(self) -> SubscriptionCondition:
        parts = [self._not()]
        while self._take("&&"):
            parts.append(self._not())
        return lambda properties: all(part(properties) for part in parts)

    def _not(self) -> SubscriptionCondition:
        sign = self._take("!", "(")
        if sign is None:
            return self._comparison()
        self.depth += 1
        if self.depth > MOST_NESTED:
            message = f"the subscription {self.text!r:.60} is nested more than {MOST_NESTED} levels deep"
            raise ValueError(message)
        if sign == "!":
            condition = _negated(self._not())
        else:
            condition = self._or()
            if not self._take(")"):
                raise self._error(self.tokens[self.at][2])
        self.depth -= 1
        return condition

    def _comparison(self) -> SubscriptionCondition:
        start = self.tokens[self.at][2]
        left, left_named = self._value()
        sign = self._take(*_COMPARE, "in")
        if sign is None:
            raise self._error(self.tokens[self.at][2])
        right, right_named = self._value()
        if not (left_named or right_named) or (sign == "in" and not right_named):
            raise self._error(start)
        if sign == "in":
            return lambda properties: _contains(right(properties), left(properties))
        return lambda properties: _holds(_COMPARE[sign], left(properties), right(properties))

    def _value(self) -> tuple[Callable[[Mapping[str, Any]], Any], bool]:
        kind, text, position = self.tokens[self.at]
        self.at += 1
        match kind:
            case "text":
                return (lambda _: text[1:-1]), False
            case "number":
                number = float(text) if any(sign in text for sign in ".eE") else int(text)
                return (lambda _: number), False
            case "name" if text != "in":
                return (lambda properties: properties.get(text)), True
            case _:
                raise self._error(position)


def _negated(condition: SubscriptionCondition) -> SubscriptionCondition:
    return lambda properties: not condition(properties)


def _holds(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    if isinstance(left, str) is not isinstance(right, str) or isinstance(left, list) is not isinstance(right, list):
        return False
    if left is None or right is None:
        return False
    try:
        return compare(left, right)
    except TypeError:  # two lists, whose first elements that differ are a number and a text
        return False


def _contains(values: Any, value: Any) -> bool:
    return isinstance(values, list) and value in values
