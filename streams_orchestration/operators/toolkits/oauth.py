"""Signatures of HTTP requests by OAuth 1.0a (RFC 5849) with HMAC-SHA1."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from streams_orchestration import world

REQUIRED = ("consumerKey", "consumerSecret", "accessToken", "accessTokenSecret")
"""The names of the properties with the credentials."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


class OAuth1:
    """The authentication of a client of `requests` that signs each request."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Take the credentials.

        Raises:
            ValueError: a property is missing.
        """
        missing = [each for each in REQUIRED if not properties.get(each)]
        if missing:
            message = f"the property {missing[0]} is missing; OAuth 1 needs {', '.join(REQUIRED)}"
            raise ValueError(message)
        self._key, self._secret, self._token, self._token_secret = (properties[each] for each in REQUIRED)

    def __call__(self, request: Any) -> Any:
        """Add the header with the signature to a prepared request, and return the request."""
        protocol = self.protocol(str(int(world.now())), world.new_id())
        form = str(request.headers.get("Content-Type", "")).startswith("application/x-www-form-urlencoded")
        body = request.body or b""
        text = (body.decode() if isinstance(body, bytes) else str(body)) if form else ""
        fields = parse_qsl(text, keep_blank_values=True)
        signature = self.signature(request.method, request.url, protocol, fields)
        written = {**protocol, "oauth_signature": signature}
        parts = (f'{name}="{_escaped(value)}"' for name, value in written.items())
        request.headers["Authorization"] = f"OAuth {', '.join(parts)}"
        return request

    def protocol(self, timestamp: str, nonce: str) -> dict[str, str]:
        """Return the parameters of the protocol without the signature."""
        return {
            "oauth_consumer_key": self._key,
            "oauth_token": self._token,
            "oauth_signature_method": "HMAC-SHA1",
            "oauth_timestamp": timestamp,
            "oauth_nonce": nonce,
        }

    def signature(
        self, method: str, url: str, protocol: Mapping[str, str], fields: Iterable[tuple[str, str]] = ()
    ) -> str:
        """Return the signature of a request, in base 64.

        Args:
            method: the method of the request.
            url: its address with the query.
            protocol: the parameters of the protocol.
            fields: the fields of a form in its body.
        """
        parts = urlsplit(url)
        port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
        base = f"{parts.scheme}://{(parts.hostname or '').lower()}{port}{parts.path or '/'}"
        pairs = [*protocol.items(), *parse_qsl(parts.query, keep_blank_values=True), *fields]
        escaped = sorted((_escaped(name), _escaped(value)) for name, value in pairs)
        written = "&".join(f"{name}={value}" for name, value in escaped)
        signed = "&".join(map(_escaped, (method.upper(), base, written)))
        key = f"{_escaped(self._secret)}&{_escaped(self._token_secret)}"
        return base64.b64encode(hmac.new(key.encode(), signed.encode(), hashlib.sha1).digest()).decode()


def _escaped(text: str) -> str:
    return quote(text, safe="~")
