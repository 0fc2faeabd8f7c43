"""HTTPPost of the toolkit com.ibm.streamsx.inet: posts each tuple, and may submit the response."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from pydantic import Field

from streams_orchestration import world
from streams_orchestration.model.containers import listed
from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.toolkits.http_calls import (
    FORM,
    JSON,
    HttpAnswer,
    HttpCallParameters,
)
from streams_orchestration.operators.toolkits.tuple_to_json import JSON_STRING, attribute_type
from streams_orchestration.operators.toolkits.typed_ports import tuple_values
from streams_orchestration.operators.toolkits.typed_results import TypedResults
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.types.types import INT32, RSTRING, Tuple, is_string

RESPONSE = {"data": RSTRING, "errorMessage": RSTRING, "responseCode": INT32, "dataSize": INT32}
"""The attributes of a response, with their types; a text may be a ustring."""


class HTTPPostParameters(HttpCallParameters):
    """The parameters of `HTTPPost`."""

    url: str = Field(min_length=1, repr=False, description="Address to post to.")
    max_retries: int = Field(
        default=3, alias="maxRetries", description="Largest number of repetitions of a request; -1: no limit."
    )
    retry_delay: float = Field(default=3.0, alias="retryDelay", ge=0, description="Seconds before a repetition.")
    connection_timeout: float = Field(
        default=60.0, alias="connectionTimeout", gt=0, description="Seconds to wait for an answer."
    )
    header_content_type: str = Field(
        default=FORM,
        alias="headerContentType",
        description="Media type of the body: a form, application/json, or another one for a single attribute.",
    )
    include: str | list[str] = Field(
        default_factory=list[str], description="Attributes to post in a form or JSON; all by default."
    )


class HTTPPost(Operator):
    """Posts each tuple, one after the other, and submits responses to its output port if there is one.

    A request that gets no response is repeated, but a response with an error status is submitted. After `maxRetries`
    repetitions the tuple is given up: its response has the code -1. A replay posts tuples again.
    """

    Parameters = HTTPPostParameters
    loaded_modules = ("requests",)

    @classmethod
    def check(cls, context: OperatorContext, parameters: HTTPPostParameters) -> None:
        """Raise ValueError if attributes and parameters do not fit, or the package requests is missing.

        Connects to nothing.
        """
        given = parameters.input_type(context)
        for name in listed(parameters.include):
            attribute_type(given, name, "include")
        if parameters.header_content_type not in (FORM, JSON) and len(given.attributes) != 1:
            message = f"headerContentType: {parameters.header_content_type} needs a stream with one attribute"
            raise ValueError(message)
        parameters.check_call()
        if context.outputs:
            check_response(parameters.output_type(context))
        require_package("HTTPPost", "requests", "http")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: HTTPPostParameters) -> str:
        """Return the address with its secrets hidden."""
        return masked(parameters.url)

    def setup(self) -> None:
        """Prepare the client. The first request connects.

        Raises ValueError if the file with the credentials cannot be read, or OAuth 1 lacks a property.
        """
        given = self.parameters
        self.caller = given.caller(
            self.context, {"Content-Type": given.header_content_type}, timeout=given.connection_timeout
        )
        self.given = given.input_type(self.context)
        self.body = body_of(self.given, given.header_content_type, listed(given.include))
        self.results = TypedResults(self) if self.context.outputs else None

    def process(self, port: int, batch: TupleBatch) -> None:
        """Post the tuples of a batch one by one, and submit the responses if there is an output port.

        A response with a status of at least 400 has its body in `errorMessage`; its `data` is empty, and its `dataSize`
        is 0. Otherwise `dataSize` counts the bytes of `data` in UTF-8.

        Raises:
            RunError: an attribute is null without being optional, or a value cannot be stored in its column.
        """
        found: list[dict[str, Any]] = []
        for each in tuple_values(batch, self.given):
            answer = self._post(self.body(each))
            failed = answer.status >= 400
            text = answer.text
            found.append(
                {
                    "data": "" if failed else text,
                    "errorMessage": answer.error or (text if failed else ""),
                    "responseCode": answer.status,
                    "dataSize": 0 if failed else len(text.encode()),
                }
            )
        if self.results is not None:
            self.results.submit(batch, found)

    def _post(self, body: bytes) -> HttpAnswer:
        """Post a body; without a response, pause and post it again, at most `maxRetries` times. Log each failure."""
        failures = 0
        while True:
            answer = self.caller.call("POST", self.parameters.url, body)
            if not answer.error:
                return answer
            failures += 1
            self.context.logger.warning("%s: %s", masked(self.parameters.url), answer.error)
            if 0 <= self.parameters.max_retries < failures:
                return answer
            world.sleep(self.parameters.retry_delay)


def check_response(type_: Tuple) -> None:
    """Raise ValueError unless a tuple type has the attributes of a response."""
    for name, wanted in RESPONSE.items():
        kind = attribute_type(type_, name, "the output stream needs the attributes of HTTPResponse")
        if kind != wanted and not (wanted == RSTRING and is_string(kind)):
            message = f"{name} of the output stream is {kind}, but {wanted} in HTTPResponse"
            raise ValueError(message)


def body_of(type_: Tuple, kind: str, include: list[str]) -> Callable[[dict[str, Any]], bytes]:
    """Return the function from a tuple to the body of its request.

    The function raises DataError if the attribute `jsonString` is the base of a JSON body, but not a JSON object. If it
    is the only attribute to post, it is the body, and is not checked.
    """
    from streams_orchestration.spl.programs.library.json_texts import json_text, string_in_json
    from streams_orchestration.spl.programs.values import text_function

    names = [each.name for each in type_.attributes if not include or each.name in include]
    kinds = {each.name: each.type for each in type_.attributes}
    if kind == JSON:
        if names == [JSON_STRING] and is_string(kinds[JSON_STRING]):
            return lambda values: values[JSON_STRING].encode()
        base = JSON_STRING if JSON_STRING in kinds and is_string(kinds[JSON_STRING]) else ""
        writers = {name: json_text(kinds[name]) for name in names if name != base}

        def write(values: dict[str, Any]) -> bytes:
            given = _object(values[base]) if base else {}
            parts = {
                **{name: json.dumps(value, ensure_ascii=False) for name, value in given.items()},
                **{name: writer(values[name]) for name, writer in writers.items()},
            }
            return f"{{{','.join(f'{string_in_json(name)}:{part}' for name, part in parts.items())}}}".encode()

        return write
    texts = {name: text_function(kinds[name]) for name in names}
    if kind == FORM:
        return lambda values: urlencode({name: text(values[name]) for name, text in texts.items()}).encode()
    [(only, text)] = texts.items()
    return lambda values: text(values[only]).encode()


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        message = f"{JSON_STRING}: {text!r:.80} is not a JSON object"
        raise DataError(message)
    return value
