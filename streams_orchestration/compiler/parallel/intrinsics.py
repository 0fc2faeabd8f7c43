"""The channel functions of a replica, and their substitution in texts (rules 28, 29, 32)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from streams_orchestration.compiler.physical_graph import PhysicalOperator
from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.programs import CONSTANTS, is_fixed, is_program

_NAME = r"(get(?:(?:Local)?Channel|(?:Local)?MaxChannels|All(?:Max)?Channels))\(\s*\)"
_FUNCTION = re.compile(rf"\$\{{\s*{_NAME}\s*\}}")
_BARE_FUNCTION = re.compile(rf"\b{_NAME}")


class ChannelContext(NamedTuple):
    """The values of the channel functions in one replica (rules 28, 29)."""

    channels: tuple[int, ...]
    """The global channel of the replica in each region around it, innermost first; (-1,) outside of regions."""
    maxima: tuple[int, ...]
    """The number of global channels of each region around the replica, innermost first; (0,) outside of regions."""
    local_channel: int
    local_max_channels: int

    @classmethod
    def at(cls, channels: Sequence[int], widths: Sequence[int]) -> ChannelContext:
        """Return the context of a replica from its global channels and the widths around it, outermost first."""
        if not widths:
            return cls((-1,), (0,), -1, 0)
        maxima = tuple(prod(widths[:depth]) for depth in range(len(widths), 0, -1))
        return cls(tuple(reversed(channels)), maxima, channels[-1] % widths[-1], widths[-1])

    def value(self, function: str) -> int | list[int]:
        """Return the value of a channel function, by its name without parentheses.

        Raises:
            KeyError: there is no channel function with this name.
        """
        match function:
            case "getChannel":
                return self.channels[0]
            case "getMaxChannels":
                return self.maxima[0]
            case "getLocalChannel":
                return self.local_channel
            case "getLocalMaxChannels":
                return self.local_max_channels
            case "getAllChannels":
                return list(self.channels)
            case "getAllMaxChannels":
                return list(self.maxima)
            case _:
                message = f"there is no function {function}()"
                raise KeyError(message)

    def substitute(self, value: Any, *, bare: bool = False) -> Any:
        """Return a parameter with every channel function replaced; other values stay.

        A text of one function becomes its value, a number or a list of numbers. Of an SPL program only the constants
        change.

        Args:
            value: a text, or a mapping or list of values.
            bare: also replace functions without `${}`, as in the expressions of an Import.
        """
        if is_program(value):
            return self._program(value)
        if is_mapping(value):
            return {
                key: self._program(entry) if is_fixed(key, entry) else self.substitute(entry, bare=bare)
                for key, entry in value.items()
            }
        if is_list(value):
            return [self.substitute(entry, bare=bare) for entry in value]
        if not isinstance(value, str) or "get" not in value:
            return value
        whole = _FUNCTION.fullmatch(value)
        if whole is not None:
            return self.value(whole.group(1))

        def replace(match: re.Match[str]) -> str:
            return str(self.value(match.group(1))).replace(" ", "")

        value = _FUNCTION.sub(replace, value)
        return _BARE_FUNCTION.sub(replace, value) if bare else value

    def _program(self, value: Mapping[str, Any]) -> Any:
        """Return a program, or logic of SPL, whose constants have the values of channel functions."""
        constants = value.get(CONSTANTS)
        return {**value, CONSTANTS: self.substitute(constants)} if constants else value


def substitute_channels(value: Any, operator: PhysicalOperator) -> Any:
    """Return parameters of a logical operator, or a part of them, with the channel functions of a replica replaced."""
    return ChannelContext.at(operator.channels, operator.widths).substitute(value)
