"""Errors of Kafka's client: some are refusals for good, which stop the application at once, others pass."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from streams_orchestration.operators.kafka.client import Cluster, KafkaAwayError, KafkaParameters, KafkaRefusedError

FINAL = {
    "_AUTHENTICATION": "SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism",
    "_SSL": "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed",
    "_INVALID_ARG": 'No such configuration property: "x"',
    "_NOT_IMPLEMENTED": "this build of the client has no GSSAPI",
    "_UNKNOWN_TOPIC": "", "UNKNOWN_TOPIC_OR_PART": "", "TOPIC_EXCEPTION": "",
    "TOPIC_AUTHORIZATION_FAILED": "", "GROUP_AUTHORIZATION_FAILED": "", "CLUSTER_AUTHORIZATION_FAILED": "",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "", "SASL_AUTHENTICATION_FAILED": "", "UNSUPPORTED_SASL_MECHANISM": "",
    "ILLEGAL_SASL_STATE": "", "MSG_SIZE_TOO_LARGE": "", "RECORD_LIST_TOO_LARGE": "", "INVALID_RECORD": "",
    "INVALID_TIMESTAMP": "", "UNSUPPORTED_COMPRESSION_TYPE": "", "POLICY_VIOLATION": "", "INVALID_GROUP_ID": "",
    "UNSUPPORTED_VERSION": "", "INVALID_TRANSACTION_TIMEOUT": "", "OFFSET_METADATA_TOO_LARGE": "",
}  # fmt: skip
PASSING = {
    "_SSL": "SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener?",
    "_TRANSPORT": "Connection refused", "_ALL_BROKERS_DOWN": "", "_RESOLVE": "", "_TIMED_OUT": "",
    "_MSG_TIMED_OUT": "", "_FENCED": "", "PRODUCER_FENCED": "", "INVALID_PRODUCER_EPOCH": "",
    "NOT_ENOUGH_REPLICAS": "", "LEADER_NOT_AVAILABLE": "", "COORDINATOR_NOT_AVAILABLE": "",
    "NOT_LEADER_FOR_PARTITION": "", "KAFKA_STORAGE_ERROR": "", "REQUEST_TIMED_OUT": "", "NETWORK_EXCEPTION": "",
    "THROTTLING_QUOTA_EXCEEDED": "", "CONCURRENT_TRANSACTIONS": "", "UNKNOWN": "",
}  # fmt: skip


def made(name: str, text: str) -> KafkaError:
    code = getattr(KafkaError, name)
    return KafkaError(code, text) if text else KafkaError(code)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        *((name, text, KafkaRefusedError) for name, text in FINAL.items()),
        *((name, text, KafkaAwayError) for name, text in PASSING.items()),
    ],
)
def test_an_error_is_told_by_its_code_raised_or_heard(name: str, text: str, kind: type[Exception]):
    cluster = Cluster(KafkaParameters(brokers="127.0.0.1:9092"))
    raised = cluster.translated(KafkaException(made(name, text)), "topic t")
    assert type(raised) is kind
    assert str(raised).startswith("topic t at 127.0.0.1:9092: ")
    cluster.settings()["error_cb"](made(name, text))
    timed_out = cluster.translated(KafkaException(made("_TIMED_OUT", "")))
    assert type(timed_out) is kind
