"""HTTP requests of a sink: the receiver's address, and whether an error is permanent."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import Field, field_validator

from streams_orchestration import world
from streams_orchestration.model.secrets import masked, names_secret
from streams_orchestration.operators.contract.operator import Parameters
from streams_orchestration.operators.errors.errors import OutsideError, RefusedError
from streams_orchestration.operators.errors.external_errors import status_passes
from streams_orchestration.operators.references import REFERENCE, Secret, exposed_secret, resolved

LONGEST_WAIT = 300.0
"""The longest pause in seconds that a receiver may request by `Retry-After`."""
_CONTENT = frozenset((400, 413, 422))
"""HTTP statuses that concern the content of a request."""
_OWN = frozenset(("content-type", "content-length", "content-encoding", "transfer-encoding", "host", "idempotency-key"))
"""Headers that the operator sets itself."""
_REMEDIES = {
    401: "check the credentials in token and headers",
    403: "check the credentials in token and headers, and their rights",
    404: "check the path in url",
    405: "check that the path in url accepts POST",
    413: "reduce batchSize",
    415: "check which format the receiver accepts",
}


class HttpAwayError(OutsideError, ValueError):
    """The receiver cannot be reached or is temporarily unable to accept the request. The request is retried."""


class HttpContentError(RefusedError):
    """The receiver refuses the content of the request, but may accept a part of the content."""


class HttpParameters(Parameters):
    """The parameters of an HTTP receiver: its address, credentials and limits."""

    url: str = Field(
        min_length=1,
        repr=False,
        description="Address http:// or https://, with secrets as ${env:NAME} or ${file:PATH}.",
    )
    headers: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description="Headers of each request, with secrets as ${env:NAME} or ${file:PATH}.",
    )
    token: Secret = Field(default=None, description="Bearer token, as ${env:NAME} or ${file:PATH}.")
    ca: str | None = Field(default=None, description="File with the trusted certificates instead of the system's.")
    timeout: float = Field(default=30.0, gt=0, description="Seconds allowed for one request.")

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        bare = REFERENCE.sub("reference", url)
        check_address(bare, ("http", "https"), "host/path", "name it in token or headers, as ${env:NAME}")
        return url

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or re.search(r"[\r\n\0]", value):
                message = f"{name!r} is not a header of HTTP"
                raise ValueError(message)
            if name.lower() in _OWN:
                message = f"{name} is set by the operator itself; leave it out"
                raise ValueError(message)
            if (names_secret(name) or name.lower() == "key") and not REFERENCE.search(value):
                raise exposed_secret(name)
        return headers


def check_address(url: str, schemes: Collection[str], rest: str, remedy: str) -> None:
    """Raise ValueError if an address has another form than scheme://rest, or contains a user or a password."""
    form = f"it is not an address of the form {' or '.join(f'{scheme}://{rest}' for scheme in schemes)}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # the text of the error may have a part of a password
        raise ValueError(form) from None
    if parts.username is not None or parts.password is not None:
        message = f"the address contains a user or password; {remedy}"
        raise ValueError(message)
    if parts.scheme not in schemes or not parts.hostname or port == 0:
        raise ValueError(form)


class HttpTarget:
    """An HTTP receiver, with one connection that is kept open."""

    def __init__(self, parameters: HttpParameters) -> None:
        """Resolve references. A connection is made on first use.

        Raises:
            RefusedError: a reference cannot be resolved, or a resolved header contains a line break.
        """
        import requests

        self.place = masked(parameters.url)
        self._timeout = parameters.timeout
        self._url = resolved(parameters.url, "url")
        headers = {name: resolved(value, f"headers: {name}") for name, value in parameters.headers.items()}
        if parameters.token is not None:
            headers["Authorization"] = f"Bearer {resolved(parameters.token, 'token')}"
        if wrong := next((name for name, value in headers.items() if re.search(r"[\r\n\0]", value)), None):
            message = f"header {wrong}: the value of its reference has a line break, which no header can have"
            raise RefusedError(message)
        self._session: Any = requests.Session()
        self._session.auth = lambda request: request  # else a .netrc would take the place of the header
        self._session.headers.update({name: value.encode() for name, value in headers.items()})
        if parameters.ca is not None:
            self._session.verify = parameters.ca

    def post(self, body: bytes, kind: str, key: str) -> None:
        """Make one POST request and check that it was accepted.

        Args:
            body: the body of the request.
            kind: the media type.
            key: the idempotency key, which is the same whenever the request is repeated.

        Raises:
            HttpAwayError: the request was not accepted but may be later. If there was a response, its second argument
                is the requested pause in seconds: at most `LONGEST_WAIT`, and 0 without a request.
            RefusedError: the request will never be accepted; HttpContentError if the cause is its content.
        """
        headers = {"Content-Type": kind, "Idempotency-Key": f'"{quote(key, safe="/[]().:~")}"'}
        self.judge(self.request("POST", "", body, headers))

    def request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Any:
        """Make one request and return the response, whatever its status. Redirects are not followed.

        Args:
            method: the HTTP method.
            path: the path after the address.
            body: the body of the request.
            headers: headers in addition to the headers of all requests.

        Raises:
            HttpAwayError: there was no response.
            RefusedError: there will never be a response, for example because of the certificate.
        """
        import requests

        url = self._url.rstrip("/") + path if path else self._url
        try:
            return self._session.request(
                method, url, data=body, headers=headers, timeout=self._timeout, allow_redirects=False
            )
        except requests.exceptions.SSLError as error:
            if "EOF occurred" in str(error):  # the connection ended during the handshake
                message = f"{self.place}: cannot be reached: the connection was closed"
                raise HttpAwayError(message) from None
            message = f"{self.place}: its certificate is not trusted, or it does not speak TLS; check ca"
            raise RefusedError(message) from None
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidHeader, UnicodeError):
            message = f"{self.place}: the values of its references do not give a valid address or header"
            raise RefusedError(message) from None
        except requests.exceptions.Timeout:
            message = f"{self.place}: no answer within {self._timeout:g} s"
            raise HttpAwayError(message) from None
        except requests.exceptions.RequestException as error:
            message = f"{self.place}: cannot be reached: {cause_of(error)}"
            raise HttpAwayError(message) from None
        except OSError:
            message = f"ca: the file {self._session.verify} cannot be read"
            raise RefusedError(message) from None

    def judge(self, answer: Any) -> None:
        """Raise an error unless the status of a response is from 200 to 299.

        Raises:
            HttpAwayError: the request may be accepted later.
            RefusedError: the request will never be accepted.
        """
        status: int = answer.status_code
        if 200 <= status < 300:
            return
        text = f"{self.place}: answered {status} {answer.reason or ''}".rstrip()
        if status_passes(status):
            raise HttpAwayError(text, _seconds(answer.headers.get("Retry-After")))
        if 300 <= status < 400:
            message = f"{text}: the receiver has moved, and requests are not redirected; set url to its new address"
            raise RefusedError(message)
        error = HttpContentError if status in _CONTENT else RefusedError
        message = f"{text}: refused; {_REMEDIES.get(status, 'check what the receiver requires')}"
        raise error(message)

    def close(self) -> None:
        """Disconnect."""
        self._session.close()


class RetryAfter:
    """Tracks until when a receiver has asked to receive no requests."""

    def __init__(self) -> None:
        self._until = 0.0

    def wait(self, error: HttpAwayError) -> None:
        """Record the pause that the receiver asked for; do nothing if it asked for none."""
        if len(error.args) > 1 and error.args[1]:
            self._until = world.monotonic() + error.args[1]

    def check(self, place: str) -> None:
        """Raise HttpAwayError until the requested pause is over."""
        left = self._until - world.monotonic()
        if left > 0:
            message = f"{place}: the server asked to wait {left:.0f} s more (Retry-After)"
            raise HttpAwayError(message)


def _seconds(retry_after: str | None) -> float:
    return min(float(retry_after), LONGEST_WAIT) if retry_after and retry_after.isdecimal() else 0.0


def cause_of(error: BaseException) -> str:
    """Return the system's text for the innermost cause, or the name of its class.

    Outer errors would show the address with its secrets.
    """
    seen: Any = error
    while (inner := getattr(seen, "reason", None) or seen.__cause__ or seen.__context__) is not None:
        if not isinstance(inner, BaseException):
            break
        seen = inner
    return str(getattr(seen, "strerror", None) or type(seen).__name__)
