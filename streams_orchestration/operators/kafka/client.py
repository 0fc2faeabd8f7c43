"""Kafka's client library as KafkaSource and KafkaSink use it: connection settings and the meaning of errors."""

from __future__ import annotations

import logging
import re
from typing import Any

from pydantic import Field, field_validator

from streams_orchestration.operators.contract.operator import Parameters
from streams_orchestration.operators.errors.errors import OutsideError, RefusedError
from streams_orchestration.operators.references import (
    UnresolvedReferenceError,
    exposed_secret,
    is_reference,
    resolved,
    without,
)

CONNECT_SECONDS = 5.0
"""Timeout in seconds of one attempt to reach a cluster."""
_DISCONNECTED = re.compile(r"isconnected|SSL transport error")
"""Matches TLS errors of a cluster that closes connections, as it does while it restarts."""
_SECRET = re.compile(r"password|secret|\bkey(\.pem)?$|jaas|token|oauthbearer\.config")
_OWN = frozenset(
    (
        *("bootstrap.servers", "group.id", "enable.auto.commit", "auto.offset.reset", "isolation.level"),
        *("transactional.id", "enable.idempotence", "enable.partition.eof", "error_cb"),
    )
)
"""Settings that the operators set themselves."""


_SILENT = logging.getLogger("streams.kafka")
"""A logger that discards the library's own log. The library also reports its errors by callback."""
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class KafkaAwayError(OutsideError):
    """The cluster cannot be reached, or temporarily cannot serve requests. The operation is retried."""


class KafkaRefusedError(RefusedError):
    """The cluster refuses permanently: a missing topic or right, wrong credentials, an invalid setting."""


class MessagesRefusedError(KafkaRefusedError):
    """Messages are refused because of their content.

    `refused` of the producer names them; a delivery without them may succeed.
    """


class KafkaParameters(Parameters):
    """The connection parameters of KafkaSource and KafkaSink."""

    brokers: str = Field(min_length=1, repr=False, description="Addresses host:port, separated by commas.")
    client: dict[str, str | int | float | bool] = Field(
        default_factory=dict,
        repr=False,
        description="Settings of librdkafka, with secrets as ${env:NAME} or ${file:PATH}.",
    )

    @field_validator("brokers")
    @classmethod
    def _check_brokers(cls, brokers: str) -> str:
        if "@" in brokers:
            message = (
                "the address contains a user or password; name them in client, as sasl.username and "
                "sasl.password: ${env:NAME}"
            )
            raise ValueError(message)
        return brokers

    @field_validator("client")
    @classmethod
    def _check_client(cls, client: dict[str, Any]) -> dict[str, Any]:
        for name, value in client.items():
            if name in _OWN:
                message = f"{name} is set by the operator itself; leave it out"
                raise ValueError(message)
            if _SECRET.search(name) and not is_reference(str(value)):
                raise exposed_secret(name)
        return client


class Cluster:
    """A cluster as one client sees it: settings with resolved secrets, and the last error that it reported."""

    def __init__(self, parameters: KafkaParameters) -> None:
        self.brokers = parameters.brokers
        self._parameters = parameters
        self._secrets: list[str] = []
        self._error: Any = None

    def settings(self, **own: Any) -> dict[str, Any]:
        """Return the settings for a client of the library. The user's settings override the operator's defaults.

        Secrets among them are masked in all output from then on.

        Args:
            own: the operator's settings. Those in `_OWN` are enforced, the others are defaults.

        Raises:
            KafkaRefusedError: a reference cannot be resolved.
        """
        settings: dict[str, Any] = {"bootstrap.servers": self.brokers, "client.id": "streams-orchestration"}
        self._secrets = []
        for name, value in self._parameters.client.items():
            try:
                settings[name] = resolved(value, f"client: {name}") if isinstance(value, str) else value
            except UnresolvedReferenceError as error:
                raise KafkaRefusedError(str(error)) from None
            if isinstance(value, str) and is_reference(value):
                self._secrets.append(str(settings[name]))
        forced = {name: value for name, value in own.items() if name in _OWN}
        return own | settings | forced | {"error_cb": self._heard, "logger": _SILENT}

    def _heard(self, error: Any) -> None:
        """Record an error that the client reports while it is polled."""
        self._error = error

    def reached(self) -> None:
        """Record that the cluster has responded, and forget earlier errors."""
        self._error = None

    def check(self) -> None:
        """Raise the last reported error, in our own words, if it means that the cluster will not respond.

        Raises:
            KafkaAwayError, KafkaRefusedError: the cluster will not respond now, or never.
        """
        from confluent_kafka import KafkaError

        error = self._error
        if error is not None and (
            error.fatal()
            or error.code()
            in (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE)
        ):
            raise self.translated(error)

    def translated(self, error: Any, about: str = "") -> KafkaAwayError | KafkaRefusedError:
        """Translate an error of the library into our own words, naming the cluster and no secret.

        If the client has reported a refusal since it was last reached, that is translated instead.

        Args:
            error: a KafkaError, or a KafkaException that contains one.
            about: the thing that the error concerns, such as a topic.
        """
        from confluent_kafka import KafkaError

        heard, kafka = self._error, getattr(error, "args", [error])[0]
        if heard is not None and _is_refusal(heard):
            kafka = heard
        text = without(str(kafka.str()) if isinstance(kafka, KafkaError) else str(error), self._secrets)
        place = f"{about} at {self.brokers}" if about else f"Kafka at {self.brokers}"
        if isinstance(kafka, KafkaError) and _is_refusal(kafka):
            return KafkaRefusedError(f"{place}: refused: {text}; {_remedy(kafka.code())}")
        if not isinstance(kafka, KafkaError):
            return KafkaRefusedError(f"{place}: {text}")
        if kafka.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            return KafkaAwayError(f"{place}: another process has taken over: {text}")
        return KafkaAwayError(f"{place}: cannot be reached: {text}")


def _is_refusal(error: Any) -> bool:
    """Return True if a retry cannot help. It may help if a cluster only closes TLS connections."""
    from confluent_kafka import KafkaError

    passes = error.code() == KafkaError._SSL and _DISCONNECTED.search(error.str()) is not None
    return error.code() in kafka_refusals() and not passes


def _remedy(code: int) -> str:
    """Return the remedy for an error that a retry cannot solve."""
    from confluent_kafka import KafkaError

    if code == KafkaError.MSG_SIZE_TOO_LARGE:
        return "allow larger messages, by max.message.bytes of the topic and message.max.bytes under client"
    if code in (KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART):
        return "create the topic, with its old settings if it was deleted, or check its name and the right to see it"
    return "check the topic, the rights and the credentials"


def refusals_of_messages() -> frozenset[int]:
    """Return the codes of errors that concern a single message."""
    from confluent_kafka import KafkaError as K

    return frozenset((K.MSG_SIZE_TOO_LARGE, K.INVALID_RECORD, K.INVALID_TIMESTAMP, K._UNKNOWN_PARTITION))


def kafka_refusals() -> frozenset[int]:
    """Return the codes of errors that a retry cannot solve."""
    from confluent_kafka import KafkaError as K

    return frozenset(
        (
            K._AUTHENTICATION,
            K._SSL,
            K._INVALID_ARG,
            K._UNKNOWN_TOPIC,
            K._UNKNOWN_PARTITION,
            K.UNKNOWN_TOPIC_OR_PART,
            K.TOPIC_AUTHORIZATION_FAILED,
            K.GROUP_AUTHORIZATION_FAILED,
            K.CLUSTER_AUTHORIZATION_FAILED,
            K.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            K.SASL_AUTHENTICATION_FAILED,
            K.UNSUPPORTED_SASL_MECHANISM,
            K.TOPIC_EXCEPTION,
            K.MSG_SIZE_TOO_LARGE,
            K.INVALID_RECORD,
            K.INVALID_TIMESTAMP,
            K.UNSUPPORTED_VERSION,
            K.POLICY_VIOLATION,
            K.RECORD_LIST_TOO_LARGE,
            K.INVALID_TRANSACTION_TIMEOUT,
            K.SECURITY_DISABLED,
            K.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            K._UNSUPPORTED_FEATURE,
            K._NOT_IMPLEMENTED,
            K.UNSUPPORTED_COMPRESSION_TYPE,
            K.ILLEGAL_SASL_STATE,
            K.INVALID_GROUP_ID,
            K.OFFSET_METADATA_TOO_LARGE,
        )
    )
