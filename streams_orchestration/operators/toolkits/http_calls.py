"""HTTP requests of the operators of the toolkit com.ibm.streamsx.inet, and the properties with their credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from streams_orchestration.model.containers import listed
from streams_orchestration.operators.clients.http_client import cause_of
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.toolkits.oauth import OAuth1
from streams_orchestration.operators.toolkits.typed_ports import TypedPortParameters

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
BYTES = "application/octet-stream"


@dataclass(frozen=True)
class HttpAnswer:
    """The response to a request; `status` is -1 and `error` says why if there is none.

    Attributes:
        line: the status line, as in `HTTP/1.1 200 OK`.
        headers: the headers, each as `Name: value`.
        kind: the media type of the body.
        charset: the character set that the response names.
        encoding: the header with the encoding of the body.
    """

    status: int = -1
    line: str = ""
    headers: tuple[str, ...] = ()
    body: bytes = b""
    kind: str = ""
    charset: str = ""
    encoding: str = ""
    error: str = ""

    @property
    def text(self) -> str:
        """The body as text, by its character set, or by UTF-8 if that is missing or unknown.

        Faulty bytes are replaced.
        """
        try:
            return self.body.decode(self.charset or "utf-8", errors="replace")
        except LookupError:
            return self.body.decode(errors="replace")


class HttpCaller:
    """A client that makes requests one after the other, and keeps connections open until `close`.

    Proxies and `.netrc` of the environment are not used.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        credentials: tuple[str, str] | OAuth1 | None = None,
        *,
        verify: bool = True,
        timeout: float | None = None,
        proxy: str = "",
    ) -> None:
        """Make a client. A connection is made on first use.

        Args:
            headers: headers of each request.
            credentials: user and password for basic authentication, or the signer of OAuth 1.
            verify: False to accept every certificate.
            timeout: the seconds allowed for a connection, and for the next bytes of a response.
            proxy: the address of a proxy; empty for none.
        """
        import requests

        self._session: Any = requests.Session()
        self._session.trust_env = False  # else a .netrc would take the place of the credentials
        self._session.headers.update(headers)
        self._session.verify = verify
        self._session.auth = credentials
        self._session.proxies = {"http": proxy, "https": proxy} if proxy else {}
        self._timeout = timeout

    def open(self, method: str, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Any:
        """Make a request and return the response of `requests`, whose body is not read yet. Redirects are not followed.

        Raises:
            requests.exceptions.RequestException: there is no response.
            UnicodeError: the address or a header cannot be encoded.
        """
        return self._session.request(
            method, url, data=body, headers=headers, timeout=self._timeout, allow_redirects=False, stream=True
        )

    def call(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        redirects: bool = False,
    ) -> HttpAnswer:
        """Make a request and return its response with the body, whatever its status, or an answer with the error.

        With `redirects`, redirections are followed.
        """
        import requests

        try:
            got: Any = self._session.request(
                method, url, data=body, headers=headers, timeout=self._timeout, allow_redirects=redirects
            )
        except (requests.exceptions.RequestException, UnicodeError) as error:
            return HttpAnswer(error=failure_text(error))
        version = {10: "HTTP/1.0", 11: "HTTP/1.1"}.get(got.raw.version, "HTTP/1.1")
        kind, _, rest = str(got.headers.get("Content-Type", "")).partition(";")
        _, given, charset = rest.partition("charset=")
        return HttpAnswer(
            status=got.status_code,
            line=f"{version} {got.status_code} {got.reason or ''}".rstrip(),
            headers=tuple(f"{name}: {value}" for name, value in got.headers.items()),
            body=got.content,
            kind=kind.strip(),
            charset=charset.strip(' "') if given else "",
            encoding=str(got.headers.get("Content-Encoding", "")),
        )

    def close(self) -> None:
        """Disconnect."""
        self._session.close()


def failure_text(error: Exception) -> str:
    """Return the kind and the innermost cause of a failed request. The error's own text would show the address."""
    kind, cause = type(error).__name__, cause_of(error)
    return kind if cause == kind else f"{kind}: {cause}"


def headers_of(written: Iterable[str], parameter: str = "extraHeaders") -> dict[str, str]:
    """Return headers that are written as `Name: value`.

    Raises:
        ValueError: a text is not a header.

    >>> headers_of(["Accept: text/plain"])
    {'Accept': 'text/plain'}
    """
    headers: dict[str, str] = {}
    for each in written:
        name, colon, value = each.partition(":")
        if not (colon and name.strip()):
            message = f"{parameter}: {each!r} is not a header; write Name: value"
            raise ValueError(message)
        headers[name.strip()] = value.strip()
    return headers


def properties_of(context: OperatorContext, file: str | None, given: Sequence[str]) -> dict[str, str]:
    """Return the properties in a file, `name=value` a line, and those given, which take precedence.

    Raises:
        ValueError: the file cannot be read.
    """
    lines: list[str] = []
    if file:
        path = Path(context.base) / file.strip()
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            message = f"authenticationFile: {path} cannot be read: {error.strerror}"
            raise ValueError(message) from None
    return properties_in([*lines, *given])


def properties_in(lines: Iterable[str]) -> dict[str, str]:
    """Return the properties in lines `name=value`; others and comments are skipped.

    >>> properties_in(["# mine", "userid = me", "password=a=b"])
    {'userid': 'me', 'password': 'a=b'}
    """
    pairs = [each.partition("=") for each in lines if "=" in each and not each.lstrip().startswith("#")]
    return {name.strip(): value.strip() for name, _, value in pairs}


class HttpCallParameters(TypedPortParameters):
    """The parameters of an operator that makes requests with basic authentication or OAuth 1."""

    authentication_type: str = Field(default="none", alias="authenticationType", description="basic, oauth or none.")
    authentication_file: str | None = Field(
        default=None,
        alias="authenticationFile",
        description="File with userid=NAME and password=PASSWORD, or the properties of OAuth 1.",
    )
    authentication_property: str | list[str] = Field(
        default_factory=list[str],
        alias="authenticationProperty",
        repr=False,
        description="Properties that take precedence over the file's.",
    )
    extra_headers: str | list[str] = Field(
        default_factory=list[str], alias="extraHeaders", repr=False, description="Headers, each as Name: value."
    )
    accept_all_certificates: bool = Field(
        default=False, alias="acceptAllCertificates", description="Accept every certificate of the server."
    )

    def check_call(self) -> None:
        """Raise ValueError if the authentication is not supported or lacks a property, or a header is malformed.

        With a file of properties, the properties are not checked.
        """
        if self.authentication_type.lower() not in ("none", "basic", "oauth"):
            message = f"authenticationType: {self.authentication_type} is not supported; basic, oauth and none are"
            raise ValueError(message)
        if self.authentication_type.lower() == "oauth" and not self.authentication_file:
            OAuth1(properties_in(listed(self.authentication_property)))
        headers_of(listed(self.extra_headers))

    def caller(
        self, context: OperatorContext, headers: Mapping[str, str], *, timeout: float | None = None
    ) -> HttpCaller:
        """Return a client with headers, which `extraHeaders` may replace, and with the credentials.

        Raises:
            ValueError: the file with the credentials cannot be read, or OAuth 1 lacks a property.
        """
        credentials: tuple[str, str] | OAuth1 | None = None
        kind = self.authentication_type.lower()
        if kind != "none":
            known = properties_of(context, self.authentication_file, listed(self.authentication_property))
            basic = (known.get("userid", ""), known.get("password", ""))
            credentials = basic if kind == "basic" else OAuth1(known)
        return HttpCaller(
            {**headers, **headers_of(listed(self.extra_headers))},
            credentials,
            verify=not self.accept_all_certificates,
            timeout=timeout,
        )
