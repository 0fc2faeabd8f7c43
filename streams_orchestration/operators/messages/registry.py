"""A client of a schema registry: schemas by number and by subject, over the common HTTP interface."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from pydantic import Field

from streams_orchestration.operators.clients.http_client import HttpAwayError, HttpParameters, HttpTarget
from streams_orchestration.operators.errors.errors import OutsideError, RefusedError
from streams_orchestration.operators.references import Secret, resolved

SchemaKind = Literal["avro", "protobuf"]
_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_DEEPEST = 32
"""The deepest nesting of references that is followed."""


class RegistryParameters(HttpParameters):
    """The parameters under `registry`: the address and credentials of a schema registry."""

    user: str | None = Field(default=None, description="User of the registry; requires password.")
    password: Secret = Field(default=None, description="Password of the user, as ${env:NAME} or ${file:PATH}.")

    def _faults(self) -> Iterator[str]:
        if (self.user is None) != (self.password is None) or (self.user is not None and self.token is not None):
            yield "give either user and password, or token alone"


class RegistryAwayError(OutsideError):
    """The registry cannot be reached or cannot answer now. The request is retried."""


class UnknownSchemaError(Exception):
    """The registry does not know the schema or the subject."""


class RegisteredSchema(NamedTuple):
    """A schema as the registry returns it."""

    number: int
    kind: str
    """The format in lower case; may be neither Avro nor Protobuf."""
    text: str
    references: Mapping[str, str]
    """Maps the name of each referenced schema to its text. A schema comes after the schemas that it refers to."""


class Registry:
    """A client. Its requests raise `RegistryAwayError`, and `RefusedError` if a retry cannot help."""

    def __init__(self, parameters: RegistryParameters) -> None:
        """Resolve references, and mask their values in all output from then on. A connection is made on first use.

        Raises:
            RefusedError: a reference cannot be resolved.
        """
        self.place = parameters.url
        self._login: dict[str, str] = {}
        if parameters.user is not None and parameters.password is not None:
            user = resolved(parameters.user, "registry: user")
            login = f"{user}:{resolved(parameters.password, 'registry: password')}"
            self._login = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
        self._target = HttpTarget(parameters)

    def close(self) -> None:
        """Disconnect."""
        self._target.close()

    def schema(self, number: int) -> RegisteredSchema:
        """Return the schema with a number, and the schemas that it refers to.

        Raises:
            UnknownSchemaError: the registry does not have one of them.
        """
        return self._whole(self._request("GET", f"/schemas/ids/{number}", f"schema {number}"), number)

    def latest(self, subject: str) -> RegisteredSchema:
        """Return the latest schema of a subject, and the schemas that it refers to.

        Raises:
            UnknownSchemaError: the registry does not have the subject, or a schema that is referred to.
        """
        answer = self._request("GET", f"/subjects/{quote(subject, safe='')}/versions/latest", f"subject {subject}")
        return self._whole(answer, int(answer["id"]))

    def register(self, subject: str, kind: SchemaKind, text: str) -> int:
        """Register a schema under a subject, unless the subject has it already, and return the schema's number.

        Raises:
            RefusedError: the registry refuses the schema.
        """
        body = {"schema": text} | ({} if kind == "avro" else {"schemaType": kind.upper()})
        try:
            answer = self._request("POST", f"/subjects/{quote(subject, safe='')}/versions", f"subject {subject}", body)
        except UnknownSchemaError as error:
            raise RefusedError(str(error)) from None
        return int(answer["id"])

    def _whole(self, answer: Mapping[str, Any], number: int) -> RegisteredSchema:
        references: dict[str, str] = {}
        self._follow(answer.get("references") or (), references, _DEEPEST)
        kind = str(answer.get("schemaType") or "AVRO").lower()
        return RegisteredSchema(number, kind, str(answer["schema"]), references)

    def _follow(self, references: Sequence[Mapping[str, Any]], into: dict[str, str], depth: int) -> None:
        for each in references:
            name = str(each["name"])
            subject = str(each["subject"])
            version = each["version"]
            if name in into or not depth:
                continue
            path = f"/subjects/{quote(subject, safe='')}/versions/{version}"
            answer = self._request("GET", path, f"subject {subject}, version {version}")
            self._follow(answer.get("references") or (), into, depth - 1)
            into[name] = str(answer["schema"])

    def _request(self, method: str, path: str, about: str, body: Any = None) -> dict[str, Any]:
        headers = {"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE} | self._login
        try:
            answer = self._target.request(method, path, None if body is None else json.dumps(body).encode(), headers)
            if answer.status_code == 404:
                message = f"{about}: the registry at {self.place} does not have it"
                raise UnknownSchemaError(message)
            if answer.status_code in (409, 422):
                message = (
                    f"{about}: the registry at {self.place} refuses the schema ({answer.status_code}): "
                    f"{_reason(answer)}; check the compatibility setting of the subject"
                )
                raise RefusedError(message)
            self._target.judge(answer)
        except HttpAwayError as error:
            message = f"schema registry, {about}: {error.args[0]}"
            raise RegistryAwayError(message) from None
        with contextlib.suppress(ValueError):
            content = answer.json()
            if isinstance(content, dict) and ("schema" in content if method == "GET" else "id" in content):
                return content
        message = f"{self.place}: it answers, but not like a schema registry; check the path in registry: url"
        raise RefusedError(message)


def _reason(answer: Any) -> str:
    try:
        return " ".join(str(answer.json()["message"]).split())[:500]
    except (ValueError, KeyError, TypeError):
        return answer.reason or "it gives no reason"
