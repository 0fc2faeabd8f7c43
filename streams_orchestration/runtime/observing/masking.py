"""Parameters and tuples as others may see them: values that may be secrets are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

HIDDEN = "•••"
_SECRET = re.compile(r"token|secret|passw|credential|authorization|cookie|connection-?string|sas$|key$", re.IGNORECASE)
_KEYS = re.compile(r"^(key|groupBy|partitionBy|idempotencyKey|primaryKey|keyAttribute)$")
"""Names of attributes, not secrets."""
_REFERENCE = re.compile(r"^\s*\$\{(env|file):[^}]*\}\s*$")
_IN_ADDRESS = re.compile(r"(\w+://[^/\s:@]*):[^/\s@]+@")


def without_secrets(parameters: Any) -> Any:
    """Return the value with everything hidden that may be a secret; references to secrets stay visible.

    Args:
        parameters: a JSON value.
    """
    if isinstance(parameters, dict):
        return {str(name): _shown(str(name), value) for name, value in parameters.items()}
    if isinstance(parameters, list | tuple):
        return [without_secrets(each) for each in parameters]
    return _without_password(parameters) if isinstance(parameters, str) else parameters


def _without_password(text: str) -> str:
    return _IN_ADDRESS.sub(rf"\1:{HIDDEN}@", text)


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, dict | list | tuple) or not _SECRET.search(name) or _KEYS.match(name):
        return without_secrets(value)
    return value if isinstance(value, str) and _REFERENCE.match(value) else HIDDEN


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
        return bool(_SECRET.search(name)) and not _KEYS.match(name)

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
        return _without_password(value) if isinstance(value, str) else value
