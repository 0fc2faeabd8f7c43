"""HTTPGetStream of the toolkit com.ibm.streamsx.inet: reads the lines of an HTTP response, by way of a journal."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

from pydantic import Field

from streams_orchestration.model.containers import listed
from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.source import JournalParameters
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.toolkits.fetching import ENDED, FetchingSource
from streams_orchestration.operators.toolkits.http_calls import (
    FORM,
    HttpCaller,
    HttpCallParameters,
    failure_text,
)
from streams_orchestration.operators.toolkits.http_post import check_response
from streams_orchestration.operators.toolkits.tuple_to_json import text_attribute
from streams_orchestration.operators.toolkits.typed_ports import output_columns
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.types.types import Tuple

LINE, CLOSED, FAILED = "line", "closed", "failed"
"""The origins of records in the journal: a line, a closed connection, a failed connection; see also `ENDED`."""


class HTTPGetStreamParameters(HttpCallParameters, JournalParameters):
    """The parameters of `HTTPGetStream`."""

    url: str = Field(min_length=1, repr=False, description="Address to read.")
    max_retries: int = Field(
        default=3, alias="maxRetries", description="Largest number of connections in a row that may fail; -1: no limit."
    )
    retry_delay: float = Field(default=30.0, alias="retryDelay", ge=0, description="Seconds before a new connection.")
    backoff: bool = Field(default=False, description="Wait ten times longer after each failure in a row.")
    post_data: str | list[str] = Field(
        default_factory=list[str],
        alias="postData",
        description="Fields to post, each as key=value. Without fields, it is a GET.",
    )
    data_attribute_name: str = Field(
        default="data", alias="dataAttributeName", description="Output attribute that gets the line."
    )
    retry_on_close: bool = Field(
        default=False, alias="retryOnClose", description="Connect again when the server has closed the connection."
    )
    disable_compression: bool = Field(
        default=False, alias="disableCompression", description="Ask for bodies without compression."
    )

    def target(self, type_: Tuple) -> str:
        """Return the attribute that gets a line: the only one, or `dataAttributeName`.

        Raises ValueError if the attribute is missing or not a string.
        """
        name = None if len(type_.attributes) == 1 else self.data_attribute_name
        return text_attribute(type_, name, "dataAttributeName")


class HTTPGetStream(FetchingSource):
    """Submits each line of the response as a tuple, and a window marker when the server closes the connection.

    Lines are in the journal before they are submitted, so a reset submits them again. The stream ends when the
    connection is closed, unless `retryOnClose` is true, or after more than `maxRetries` failures in a row. With
    `retryOnClose`, closed connections count as failures here. A second output port gets a tuple for each failure.
    """

    Parameters = HTTPGetStreamParameters
    value_origin = LINE

    @classmethod
    def check(cls, context: OperatorContext, parameters: JournalParameters) -> None:
        """Raise ValueError if attributes and parameters do not fit. Connects to nothing.

        It also fails in a parallel region of several channels, and without the package requests.
        """
        assert isinstance(parameters, HTTPGetStreamParameters)
        parameters.target(parameters.output_type(context))
        for each in listed(parameters.post_data):
            if "=" not in each:
                message = f"postData: {each!r:.40} is not a key=value"
                raise ValueError(message)
        if len(context.outputs) > 1 and (second := context.outputs[1]) is not None:
            check_response(_second(second))
        context.require_one_channel("read the same stream")
        parameters.check_call()
        require_package("HTTPGetStream", "requests", "http")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: HTTPGetStreamParameters) -> str:
        """Return the address."""
        return masked(parameters.url)

    # --- in the host's process

    async def receive(self, intake: Intake) -> None:
        """Read responses into the journal until the source ends, then wait to be cancelled.

        The journal also gets a record for each closed or failed connection, and for the end. Between two connections,
        pause for `retryDelay` seconds, or longer with `backoff`.
        """
        given: HTTPGetStreamParameters = self.parameters
        encoding = "identity" if given.disable_compression else "gzip, deflate"
        caller = given.caller(self.context, {"Accept-Encoding": encoding})
        failures = 0
        try:
            while True:
                error = await self._read(intake, caller)
                if error is None:
                    await intake.put([b""], CLOSED)
                    failures = failures + 1 if given.retry_on_close else 0
                    goes_on = given.retry_on_close
                else:
                    failures = 1 if error.pop("read") else failures + 1
                    await intake.put([json.dumps(error).encode()], FAILED)
                    goes_on = True
                if not goes_on or 0 <= given.max_retries < failures:
                    break
                await asyncio.sleep(given.retry_delay * (10 ** min(failures - 1, 6) if given.backoff else 1))
            await intake.put([b""], ENDED)
            await asyncio.Event().wait()
        finally:
            caller.close()

    async def _read(self, intake: Intake, caller: HttpCaller) -> dict[str, Any] | None:
        """Write the lines of one response to the journal; return None once the server has closed it.

        Return the facts about the failure if there is no response, it breaks off, or its status is not 200.
        """
        import requests

        given: HTTPGetStreamParameters = self.parameters
        fields = dict(each.split("=", 1) for each in listed(given.post_data))
        body, headers = (urlencode(fields).encode(), {"Content-Type": FORM}) if fields else (None, None)
        read = False
        response: Any = None
        try:
            response = await asyncio.to_thread(caller.open, "POST" if fields else "GET", given.url, body, headers)
            if response.status_code != 200:
                text = await asyncio.to_thread(lambda: response.text)
                return {"status": response.status_code, "error": response.reason, "data": text, "read": False}
            intake.receiving(masked(given.url))
            rest = b""
            chunks = response.iter_content(chunk_size=None)
            while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
                *lines, rest = (rest + chunk).split(b"\n")
                await intake.put([line.removesuffix(b"\r") for line in lines], LINE)
                read = read or bool(lines)
            await intake.put([rest] if rest else [], LINE)
        except requests.exceptions.RequestException as error:
            return {"status": -1, "error": failure_text(error), "data": "", "read": read}
        finally:
            if response is not None:
                response.close()
        return None

    # --- in the tasks

    def setup(self) -> None:
        """Prepare the columns and the reading of the journal."""
        super().setup()
        self.target = self.parameters.target(self.made)

    def on_event(self, origin: str, data: bytes) -> None:
        """Submit a window marker for a closed connection, or the facts about a failed one.

        Raises ValueError or RunError if the second output port cannot take the facts.
        """
        if origin == CLOSED:
            super().on_event(origin, data)
        else:
            self._submit_failure(json.loads(data))

    def _submit_failure(self, facts: dict[str, Any]) -> None:
        self.context.logger.warning("%s: %s", masked(self.parameters.url), facts["error"])
        if len(self.context.outputs) == 1:
            return
        schema = self.context.output_schema(1)
        values = {
            "data": facts["data"],
            "errorMessage": facts["error"],
            "responseCode": facts["status"],
            "dataSize": len(facts["data"].encode()),
        }
        self.submit(TupleBatch.from_columns(output_columns([values], _second(schema)), schema), 1)


def _second(schema: pa.Schema) -> Tuple:
    from streams_orchestration.operators.expressions.spl.types import tuple_type

    return tuple_type(schema)
