"""Parameters as the page shows them: values that may be secrets are not."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "•••"
_SECRET = re.compile(r"token|secret|passw|credential|authorization|cookie|connection-?string|sas$|key$", re.IGNORECASE)
_KEYS = re.compile(r"^(key|groupBy|partitionBy|idempotencyKey|primaryKey|keyAttribute)$")
"""Names of attributes, not secrets."""
_REFERENCE = re.compile(r"^\s*\$\{(env|file):[^}]*\}\s*$")
_IN_ADDRESS = re.compile(r"(\w+://[^/\s:@]*):[^/\s@]+@")


def without_secrets(parameters: Any) -> Any:
    """The same value without what may be a secret; where a secret is kept is none.

    Args:
        parameters: a JSON value.
    """
    if isinstance(parameters, dict):
        return {str(name): _shown(str(name), value) for name, value in parameters.items()}
    if isinstance(parameters, list | tuple):
        return [without_secrets(each) for each in parameters]
    return _IN_ADDRESS.sub(rf"\1:{HIDDEN}@", parameters) if isinstance(parameters, str) else parameters


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, dict | list | tuple) or not _SECRET.search(name) or _KEYS.match(name):
        return without_secrets(value)
    return value if isinstance(value, str) and _REFERENCE.match(value) else HIDDEN
