"""Tuples as others may see them: values that may be secrets are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from streams_orchestration.model.secrets import HIDDEN, masked, names_secret


@dataclass(frozen=True, slots=True)
class Mask:
    """Hides values of attributes: those that it names, and those whose names suggest credentials."""

    names: tuple[str, ...] = ()
    """Names of attributes at any depth, with `*` and `?`; upper and lower case are the same."""

    def hides(self, name: str) -> bool:
        """Whether no value of an attribute of this name may be seen."""
        wanted = name.lower()
        if any(fnmatchcase(wanted, each.lower()) for each in self.names):
            return True
        return names_secret(name)

    def attribute(self, name: str, value: Any) -> Any:
        """The value of an attribute as it may be seen; structs, lists and maps in it are looked through.

        Args:
            name: of the attribute.
            value: of Python; a map is a list of pairs.
        """
        if value is None:
            return None
        return HIDDEN if self.hides(name) else self._within(value)

    def _within(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(name): self.attribute(str(name), each) for name, each in value.items()}
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
            return value[0], self.attribute(value[0], value[1])
        if isinstance(value, list | tuple):
            return [self._within(each) for each in value]
        return masked(value) if isinstance(value, str) else value
