"""Masking of tuples shown to users: values that may be secrets are hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from streams_orchestration.model.secrets import HIDDEN, masked, names_secret


@dataclass(frozen=True, slots=True)
class Mask:
    """The attributes whose values are hidden: the configured ones, and those whose names suggest credentials."""

    names: tuple[str, ...] = ()
    """Patterns for names of attributes at any depth, with `*` and `?`, case-insensitive."""

    def hides(self, name: str) -> bool:
        """Return True if values of attributes with this name are hidden, also because it suggests credentials."""
        wanted = name.lower()
        if any(fnmatchcase(wanted, each.lower()) for each in self.names):
            return True
        return names_secret(name)

    def attribute(self, name: str, value: Any) -> Any:
        """Mask the value of an attribute, including nested structs, lists and maps.

        Args:
            name: name of the attribute.
            value: a Python value; a map is a list of pairs.
        """
        if value is None:
            return None
        return HIDDEN if self.hides(name) else self._within(value)

    def _within(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            fields = cast("Mapping[Any, Any]", value)
            return {str(name): self.attribute(str(name), each) for name, each in fields.items()}
        if isinstance(value, list | tuple):
            parts = cast("Sequence[Any]", value)
            if isinstance(value, tuple) and len(parts) == 2 and isinstance(parts[0], str):
                return parts[0], self.attribute(parts[0], parts[1])
            return [self._within(each) for each in parts]
        return masked(value) if isinstance(value, str) else value
