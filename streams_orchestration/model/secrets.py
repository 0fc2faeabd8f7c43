"""Hiding of secrets in texts and values: passwords, tokens and keys. References to secrets stay visible.

>>> masked("https://me:a/b@c@example.org/?token=x&page=2")
'https://me:•••@example.org/?token=•••&page=2'
>>> without_secrets({"passwords": ["a", "b"], "token": "${env:TOKEN}"})
{'passwords': '•••', 'token': '${env:TOKEN}'}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from streams_orchestration.model.containers import is_list, is_mapping

HIDDEN = "•••"
REFERENCE = re.compile(r"\$?\{(env|file):([^{}]+)\}")
"""Matches a reference to a secret, with or without the dollar sign."""

_WORDS = (
    r"token|secret|passw|passphrase|(?<![a-z])pass\b|pwd\b|credential|authorization|cookie|connection-?string|jaas"
    r"|sas\b|key\b(?:\.pem)?|(?:api|access|account|private|secret|shared)[-_.]?keys\b"
)
_NAME = re.compile(_WORDS, re.IGNORECASE)
_ATTRIBUTES = re.compile(
    r"key|groupBy|partitionBy|keyAttribute"
    r"|(add|asset|check|concurrency|foreign|group|idempotency|join|op|partition|primary|remove|run|sort|step|unique)"
    r"[-_.]?[Kk]ey"
)
"""Matches names with `key` that mean an attribute or an identifier, and not a secret."""
_SETTING = re.compile(
    rf"""
    (?P<mark>[?&]?) (?<![\w.-]) (?P<name> [\w.-]*? (?:{_WORDS}|(?<=[?&])sig\b) [\w.-]* ) =
    (?! {REFERENCE.pattern} (?:[\s&;\#]|$) )
    (?P<value> "[^"\n]*" | '[^'\n]*' | [^\s&;\#]* )
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Matches `name=value`, as in the query of an address or in the settings of a connection."""
_LOGIN = re.compile(r"(?P<scheme>[\w.+-]*://)(?P<user>[^\s/:@]*)(?P<mark>[:@])")
_ENDS = ")]}'\",.:"
"""Punctuation that may follow an address in a sentence, and does not belong to the secret in it."""
_LEAST = 3
"""The least length of a secret that is searched for; a shorter text occurs in other words."""
_SHORT = 6
"""The least length of a secret that is searched for within words; a shorter one matches whole words only."""
_LINE = 20
"""The least length of a line of a secret (such as a PEM key) that is hidden on its own."""
_FILES = re.compile(r"(FILE|PATH|DIR|SOCK)$|^(OLD)?PWD$", re.IGNORECASE)
"""Matches names of environment variables that hold a path, and not a secret."""


class KnownSecrets:
    """The secrets that this process has read, longest first."""

    secrets: tuple[str, ...] = ()


def names_secret(name: str) -> bool:
    """Return True if a parameter or attribute with this name may hold a secret."""
    return bool(_NAME.search(name)) and not _ATTRIBUTES.fullmatch(name)


def without_secrets(value: Any) -> Any:
    """Return a JSON value in which everything that may be a secret is hidden."""
    if is_mapping(value):
        return {str(name): shown(str(name), each) for name, each in value.items()}
    if is_list(value):
        return [without_secrets(each) for each in value]
    return masked(value) if isinstance(value, str) else value


def shown(name: str, value: Any) -> Any:
    """Return the value of a parameter for a message; the value is hidden if the parameter's name is a secret's.

    References to secrets stay, and other values have their own secrets hidden.
    """
    if not names_secret(name):
        return without_secrets(value)
    return value if _only_references(value) else HIDDEN


def masked(text: str) -> str:
    """Return a text in which secrets in addresses and settings (`name=value`) and remembered secrets are hidden.

    A password may contain `/` and `@`, so it ends at the last `@` before a space.
    """
    for secret in KnownSecrets.secrets:
        text = _without(text, secret)
    if "://" in text and "@" in text:
        text = re.sub(r"\S+", lambda match: _without_login(match[0]), text)
    return _SETTING.sub(_without_value, text) if "=" in text else text


def hidden_in(text: str, parameters: Any) -> str:
    """Return a text in which the values of parameters with names of secrets are hidden, from 3 characters on."""
    for secret in sorted(set(_secrets(parameters, named=False)), key=len, reverse=True):
        text = _without(text, secret)
    return text


def remember(secret: str) -> None:
    """Make `masked` hide a secret in every text of this process; each line of a long secret is hidden on its own.

    A secret of fewer than 3 characters is not hidden.
    """
    lines = [line.strip() for line in secret.splitlines()]
    parts = [line for line in lines if len(line) >= _LINE and not line.startswith("-----")] if len(lines) > 1 else []
    wanted = {each for each in (secret.strip(), *parts) if len(each) >= _LEAST}
    if not wanted <= set(KnownSecrets.secrets):
        KnownSecrets.secrets = tuple(sorted({*KnownSecrets.secrets, *wanted}, key=len, reverse=True))


def remember_values(parameters: Any) -> None:
    """Make `masked` hide the values of parameters whose names say that they are secret, and passwords in addresses."""
    for secret in _secrets(parameters, named=False):
        remember(secret)
    for text in _texts(parameters):
        if "://" in text:  # an expression may compare attributes, and is not a setting
            _remember_parts(text)


def remember_environment(environment: Mapping[str, str]) -> None:
    """Make `masked` hide environment variables whose names say that they are secret, and secrets within other ones.

    Values of fewer than 6 characters, and variables that hold a path by their names, are not secrets.
    """
    for name, value in environment.items():
        if names_secret(name) and not _FILES.search(name) and len(value.strip()) >= _SHORT:
            remember(value)
        _remember_parts(value)


def _only_references(value: Any) -> bool:
    if is_mapping(value):
        return all(_only_references(each) for each in value.values())
    if is_list(value):
        return all(_only_references(each) for each in value)
    return value is None or (isinstance(value, str) and REFERENCE.fullmatch(value.strip()) is not None)


def _secrets(value: Any, *, named: bool) -> Iterator[str]:
    if is_mapping(value):
        for name, each in value.items():
            yield from _secrets(each, named=named or names_secret(str(name)))
    elif is_list(value):
        for each in value:
            yield from _secrets(each, named=named)
    elif named and isinstance(value, str) and len(value.strip()) >= _LEAST and not REFERENCE.search(value):
        yield value.strip()


def _without(text: str, secret: str) -> str:
    if secret not in text:
        return text
    word = re.escape(secret)
    anywhere = len(secret) >= _SHORT and not secret.isalpha()
    return re.sub(word if anywhere else rf"(?<!\w){word}(?!\w)", HIDDEN, text)


def _texts(value: Any) -> Iterator[str]:
    if is_mapping(value) or is_list(value):
        for each in value.values() if is_mapping(value) else value:
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def _remember_parts(text: str) -> None:
    """Make `masked` hide the passwords in a text's addresses, and the secrets in its settings."""
    if "://" in text and "@" in text:
        for word in text.split():
            login, last = _LOGIN.search(word), word.rfind("@")
            if login is not None and login["mark"] == ":" and not REFERENCE.search(word[login.end() : last]):
                remember(word[login.end() : last])
    if "=" in text:
        for match in _SETTING.finditer(text):
            if not _ATTRIBUTES.fullmatch(match["name"]) and len(match["value"]) >= _SHORT:
                remember(match["value"].strip("\"'"))


def _without_login(word: str) -> str:
    """Return a word with an address's password hidden, up to the last `@`.

    A user of HTTP without a password is hidden, too. A reference in place of the secret stays.
    """
    last = word.rfind("@")
    for match in _LOGIN.finditer(word, 0, last + 1):
        start = match.end() if match["mark"] == ":" else match.start("user")
        if match["mark"] == "@" and not (match["scheme"].startswith("http") and match["user"]):
            continue
        reference = REFERENCE.match(word, start)
        if reference is None or word[reference.end()] != "@":
            return f"{word[:start]}{HIDDEN}{word[last:]}"
    return word


def _without_value(match: re.Match[str]) -> str:
    value = match["value"]
    if not value or (not match["mark"] and _ATTRIBUTES.fullmatch(match["name"])):
        return match[0]
    seen = value.rstrip(_ENDS)
    behind = "" if value[0] in "\"'" or not seen else value[len(seen) :]
    return f"{match['mark']}{match['name']}={HIDDEN}{behind}"
