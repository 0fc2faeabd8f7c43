"""HTTPRequest of the toolkit com.ibm.streamsx.inet: makes a request for each tuple, and may submit the response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from pydantic import Field

from streams_orchestration.model.containers import listed
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.toolkits.http_calls import (
    BYTES,
    FORM,
    JSON,
    HttpAnswer,
    HttpCaller,
    headers_of,
    properties_of,
)
from streams_orchestration.operators.toolkits.oauth import OAuth1
from streams_orchestration.operators.toolkits.tuple_to_json import attribute_type
from streams_orchestration.operators.toolkits.typed_ports import TypedPortParameters, tuple_values
from streams_orchestration.operators.toolkits.typed_results import TypedResults
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.types.types import BLOB, INT32, Collection, Type, is_string

Method = Literal["GET", "POST", "PUT", "PATCH", "OPTIONS", "HEAD", "DELETE", "TRACE", "NONE"]
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_REDIRECTED = {"DEFAULT": ("GET", "HEAD"), "LAX": ("GET", "HEAD", "POST", "DELETE"), "NONE": ()}
"""Maps a strategy to the methods whose redirections are followed."""
_OF_REQUEST = (
    *("url", "method", "content_type", "extra_header_attribute", "access_token_attribute", "token_type_attribute"),
    *("request_body_attribute", "request_body_attribute_bin", "request_url_arguments_attribute"),
)
"""Parameters that name input attributes, which are then no request attributes."""
_OUTPUTS = {
    "output_data_line": "string",
    "output_body": "string",
    "output_body_raw": "blob",
    "output_status": "string",
    "output_status_code": "int32",
    "output_header": "list",
    "output_content_encoding": "string",
    "output_content_type": "string",
    "output_char_set": "string",
    "error_diagnostics": "string",
}
"""Maps parameters that name output attributes to the kinds of these attributes."""


def _attribute(alias: str, description: str) -> Any:
    return Field(default=None, alias=alias, description=description)


class HTTPRequestParameters(TypedPortParameters):
    """The parameters of `HTTPRequest`."""

    url: str | None = _attribute("url", "Input attribute with the address.")
    fixed_url: str | None = Field(default=None, alias="fixedUrl", repr=False, description="Address of each request.")
    method: str | None = _attribute("method", "Input attribute with the method.")
    fixed_method: Method | None = Field(default=None, alias="fixedMethod", description="Method of each request.")
    content_type: str | None = _attribute("contentType", "Input attribute with the media type of the body.")
    fixed_content_type: str = Field(default=JSON, alias="fixedContentType", description="Media type of each body.")
    extra_headers: str | list[str] = Field(
        default_factory=list[str], alias="extraHeaders", repr=False, description="Headers, each as Name: value."
    )
    extra_header_attribute: str | None = _attribute("extraHeaderAttribute", "Input attribute with one more header.")
    access_token_attribute: str | None = _attribute("accessTokenAttribute", "Input attribute with the access token.")
    token_type_attribute: str | None = _attribute("tokenTypeAttribute", "Input attribute with the type of the token.")
    request_attributes: str | list[str] | None = Field(
        default=None, alias="requestAttributes", description="Input attributes of the body; by default all others."
    )
    request_attributes_as_url_arguments: bool = Field(
        default=False,
        alias="requestAttributesAsUrlArguments",
        description="Append the attributes of the body to the address of a GET.",
    )
    request_url_arguments_attribute: str | None = _attribute(
        "requestUrlArgumentsAttribute", "Input attribute with the arguments of the address."
    )
    request_body_attribute: str | None = _attribute("requestBodyAttribute", "Input attribute with the body.")
    request_body_attribute_bin: str | None = _attribute(
        "requestBodyAttributeBin", "Input attribute, a blob, with a body of the type application/octet-stream."
    )
    output_data_line: str | None = _attribute(
        "outputDataLine", "Output attribute for a line of the response; each line becomes a tuple."
    )
    output_body: str | None = _attribute("outputBody", "Output attribute for the body of the response.")
    output_body_raw: str | None = _attribute("outputBodyRaw", "Output attribute, a blob, for the body.")
    output_status: str | None = _attribute("outputStatus", "Output attribute for the status line.")
    output_status_code: str | None = _attribute("outputStatusCode", "Output attribute for the status; -1 for none.")
    output_header: str | None = _attribute("outputHeader", "Output attribute, a list of strings, for the headers.")
    output_content_encoding: str | None = _attribute("outputContentEncoding", "Output attribute for the encoding.")
    output_content_type: str | None = _attribute("outputContentType", "Output attribute for the media type.")
    output_char_set: str | None = _attribute("outputCharSet", "Output attribute for the character set.")
    error_diagnostics: str | None = _attribute(
        "errorDiagnostics", "Output attribute for the error if there is no response."
    )
    authentication_type: Literal["STANDARD", "OAUTH1", "OAUTH2"] = Field(
        default="STANDARD",
        alias="authenticationType",
        description="STANDARD: basic. OAUTH1: signed requests. OAUTH2: an access token.",
    )
    authentication_file: str | None = Field(
        default=None, alias="authenticationFile", description="File with HOST=user:password, or accessToken=TOKEN."
    )
    authentication_properties: str | list[str] = Field(
        default_factory=list[str],
        alias="authenticationProperties",
        repr=False,
        description="Properties that take precedence over the file's.",
    )
    ssl_accept_all_certificates: bool = Field(
        default=False, alias="sslAcceptAllCertificates", description="Accept every certificate of the server."
    )
    proxy: str = Field(default="", description="Host of a proxy.")
    proxy_port: int = Field(default=8080, alias="proxyPort", description="Port of the proxy.")
    redirect_strategy: Literal["DEFAULT", "LAX", "NONE"] = Field(
        default="DEFAULT",
        alias="redirectStrategy",
        description="Methods that are redirected. DEFAULT: GET and HEAD. LAX: POST and DELETE, too. NONE: none.",
    )
    disable_redirect_handling: bool = Field(
        default=False, alias="disableRedirectHandling", description="Ignore redirections."
    )
    connection_timeout: int = Field(
        default=0, alias="connectionTimeout", ge=0, description="Milliseconds allowed for a connection; 0: the default."
    )
    socket_timeout: int = Field(
        default=-1, alias="socketTimeout", description="Milliseconds to wait for the next bytes; -1: the default."
    )
    user_agent: str | None = Field(default=None, alias="userAgent", description="The header User-Agent.")

    def _faults(self) -> Iterator[str]:
        for one, other in (("url", "fixed_url"), ("method", "fixed_method")):
            if (getattr(self, one) is None) == (getattr(self, other) is None):
                fields = type(self).model_fields
                yield f"one of {fields[one].alias} and {fields[other].alias} is expected"
        if self.output_data_line is not None and (self.output_body is not None or self.output_body_raw is not None):
            yield "outputDataLine and outputBody or outputBodyRaw exclude each other; leave one out"

    @property
    def timeout(self) -> float | None:
        """The seconds allowed for a connection, and for the next bytes of a response: the longer of both parameters.

        None, without either, means no limit.
        """
        given = [each / 1000 for each in (self.connection_timeout, self.socket_timeout) if each > 0]
        return max(given) if given else None

    def written(self, names: list[str]) -> list[str]:
        """Return `requestAttributes`; by default, the attributes of the input stream that no other parameter names."""
        if self.request_attributes is not None:
            return [name for name in listed(self.request_attributes) if name]
        used = {getattr(self, each) for each in _OF_REQUEST}
        return [name for name in names if name not in used]


class HTTPRequest(Operator):
    """Makes a request for each tuple, one after the other; its output port gets the tuple with the response.

    A request without a response is not repeated: its tuple has the status -1. A replay makes requests again.
    """

    Parameters = HTTPRequestParameters
    loaded_modules = ("requests",)

    @classmethod
    def check(cls, context: OperatorContext, parameters: HTTPRequestParameters) -> None:
        """Raise ValueError if attributes and parameters do not fit, or the package requests is missing.

        Connects to nothing.
        """
        given = parameters.input_type(context)
        for field in _OF_REQUEST:
            name = getattr(parameters, field)
            if name is not None:
                alias = type(parameters).model_fields[field].alias or field
                wanted = "blob" if field == "request_body_attribute_bin" else "string"
                _check_kind(attribute_type(given, name, alias), wanted, f"{alias}: {name}")
        for name in parameters.written([each.name for each in given.attributes]):
            attribute_type(given, name, "requestAttributes")
        for field, wanted in _OUTPUTS.items():
            name = getattr(parameters, field)
            alias = type(parameters).model_fields[field].alias or field
            if name is not None and not context.outputs:
                message = f"{alias} needs an output port"
                raise ValueError(message)
            if name is not None:
                _check_kind(attribute_type(parameters.output_type(context), name, alias), wanted, f"{alias}: {name}")
        headers_of(listed(parameters.extra_headers))
        require_package("HTTPRequest", "requests", "http")

    def setup(self) -> None:
        """Prepare the client. The first request connects."""
        given = self.parameters
        self.properties = properties_of(
            self.context, given.authentication_file, listed(given.authentication_properties)
        )
        agent = {} if given.user_agent is None else {"User-Agent": given.user_agent}
        self.caller = HttpCaller(
            {**agent, **headers_of(listed(given.extra_headers))},
            OAuth1(self.properties) if given.authentication_type == "OAUTH1" else None,
            verify=not given.ssl_accept_all_certificates,
            timeout=given.timeout,
            proxy=f"http://{given.proxy}:{given.proxy_port}" if given.proxy else "",
        )
        self.given = given.input_type(self.context)
        self.names = given.written([each.name for each in self.given.attributes])
        self.results = TypedResults(self) if self.context.outputs else None

    def process(self, port: int, batch: TupleBatch) -> None:
        """Make the requests of a batch, and submit the tuples with the responses if there is an output port.

        Raises:
            RunError: an attribute is null without being optional, or a value cannot be stored in its column.
        """
        found: list[dict[str, Any]] = []
        places: list[int] = []
        for place, values in enumerate(tuple_values(batch, self.given)):
            for each in self._results(self._answer(place, values)):
                found.append(each)
                places.append(place)
        if self.results is not None:
            self.results.submit(batch.take(np.array(places, dtype=np.int64)), found)

    def _answer(self, place: int, values: dict[str, Any]) -> HttpAnswer | None:
        """Make the request of a tuple, and log a missing response; return None for the method NONE."""
        given = self.parameters
        method = str(given.fixed_method or values[given.method]).upper()
        if method == "NONE":
            return None
        if method not in _WITH_BODY and method not in ("GET", "OPTIONS", "HEAD", "DELETE", "TRACE"):
            message = f"{given.method}: {method!r:.40} is not a method of HTTP"
            raise TupleError(place) from DataError(message)
        kind = values[given.content_type] if given.content_type else given.fixed_content_type
        body = self._body(method, kind, values) if method in _WITH_BODY else None
        url = self._url(method, values)
        try:
            headers = self._headers(url, values) | ({} if body is None else {"Content-Type": kind})
        except ValueError as error:
            raise TupleError(place) from DataError(str(error))
        followed = () if given.disable_redirect_handling else _REDIRECTED[given.redirect_strategy]
        answer = self.caller.call(method, url, body, headers, redirects=method in followed)
        if answer.error:
            self.context.logger.warning("%s", answer.error)
        return answer

    def _url(self, method: str, values: dict[str, Any]) -> str:
        given = self.parameters
        url = given.fixed_url or values[given.url]
        written = values[given.request_url_arguments_attribute] if given.request_url_arguments_attribute else ""
        if written:
            arguments = quote(written, safe="=&%+/:?,;@")
        elif method == "GET" and given.request_attributes_as_url_arguments:
            arguments = urlencode(self._texts(values))
        else:
            return url
        return f"{url}{'&' if '?' in url else '?'}{arguments}" if arguments else url

    def _headers(self, url: str, values: dict[str, Any]) -> dict[str, str]:
        """Return the headers of a tuple's request that the tuple and the properties give.

        Raises ValueError if the header or the address is malformed.
        """
        given = self.parameters
        headers: dict[str, str] = {}
        if given.extra_header_attribute and (header := values[given.extra_header_attribute]):
            headers |= headers_of([header], f"extraHeaderAttribute: {given.extra_header_attribute}")
        if given.authentication_type == "OAUTH2":
            token = values[given.access_token_attribute] if given.access_token_attribute else ""
            kind = values[given.token_type_attribute] if given.token_type_attribute else ""
            token, kind = token or self.properties.get("accessToken"), kind or self.properties.get("authMethod")
            if token:
                headers["Authorization"] = f"{kind or 'Bearer'} {token}"
        if given.authentication_type != "STANDARD":
            return headers
        scopes = (_host_of(url, given.url or "fixedUrl"), "ANY_HOST", "ANY")
        written = next((self.properties[each] for each in scopes if each in self.properties), "")
        if written:
            from requests.auth import _basic_auth_str

            user, _, password = written.partition(":")
            headers["Authorization"] = _basic_auth_str(user, password)
        return headers

    def _texts(self, values: dict[str, Any]) -> dict[str, str]:
        """Return the texts of the request attributes that are not null."""
        from streams_orchestration.spl.programs.values import text_function

        kinds = {each.name: each.type for each in self.given.attributes}
        return {name: text_function(kinds[name])(values[name]) for name in self.names if values[name] is not None}

    def _body(self, method: str, kind: str, values: dict[str, Any]) -> bytes:
        given = self.parameters
        text = values[given.request_body_attribute] if given.request_body_attribute else ""
        raw = values[given.request_body_attribute_bin] if given.request_body_attribute_bin else b""
        media = kind.partition(";")[0].strip()
        if text or raw or method != "POST":
            return bytes(raw) if media == BYTES else text.encode()
        if media == JSON:
            from streams_orchestration.spl.programs.library.json_texts import json_text, string_in_json

            kinds = {each.name: each.type for each in self.given.attributes}
            parts = [f"{string_in_json(name)}:{json_text(kinds[name])(values[name])}" for name in self.names]
            return f"{{{','.join(parts)}}}".encode()
        texts = self._texts(values)
        return (urlencode(texts) if media == FORM else "".join(texts.values())).encode()

    def _results(self, answer: HttpAnswer | None) -> Iterator[dict[str, Any]]:
        """Yield the attributes of each output tuple for a response; nothing is set for the method NONE."""
        given = self.parameters
        if answer is None:
            yield {}
            return
        both = given.output_body is not None and given.output_body_raw is not None
        is_raw = answer.kind in (BYTES, "default/binary") if both else given.output_body_raw is not None
        values = {
            "output_body": "" if is_raw else answer.text,
            "output_body_raw": answer.body if is_raw else b"",
            "output_status": answer.line,
            "output_status_code": answer.status,
            "output_header": list(answer.headers),
            "output_content_encoding": answer.encoding,
            "output_content_type": answer.kind,
            "output_char_set": answer.charset,
            "error_diagnostics": answer.error,
        }
        found = {name: value for field, value in values.items() if (name := getattr(given, field)) is not None}
        line = given.output_data_line
        if line is None:
            yield found
            return
        for text in answer.text.splitlines() or [""]:
            yield {**found, line: text}


def _host_of(url: str, parameter: str) -> str:
    """Return the host of an address, or an empty text without one.

    The error for a malformed address does not repeat it, since it may hold a secret.
    """
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        message = f"{parameter}: the address is malformed; write http://host:port/path"
        raise ValueError(message) from None


def _check_kind(kind: Type, wanted: str, what: str) -> None:
    fits = {
        "string": is_string(kind),
        "blob": kind == BLOB,
        "int32": kind == INT32,
        "list": isinstance(kind, Collection) and kind.kind == "list" and is_string(kind.elements[0]),
    }
    if not fits[wanted]:
        message = f"{what} is {kind}, but {'a list of strings' if wanted == 'list' else f'a {wanted}'} is expected"
        raise ValueError(message)
