"""An error is known to have its cause outside of the application, so that the region is reset until that has passed."""

from __future__ import annotations

import errno
import socket
import sqlite3
import ssl
import urllib.error

import nats.errors
import pymysql
import pytest
import requests
from redis import exceptions as redis_errors
from sqlalchemy.exc import OperationalError

from streams_orchestration.operators import DataError, OutsideError
from streams_orchestration.operators.clients.http_client import HttpAwayError
from streams_orchestration.operators.databases.errors import DatabaseAwayError
from streams_orchestration.operators.errors.external_errors import is_outside
from streams_orchestration.operators.kafka.client import KafkaAwayError
from streams_orchestration.operators.messages.registry import RegistryAwayError
from streams_orchestration.operators.storage.port import StorageAwayError

UNTRUSTED = ssl.SSLCertVerificationError(1, "certificate verify failed")


class ReadTimeout(Exception):  # noqa: N818
    """As clients of HTTP name it."""


class EndpointConnectionError(Exception):
    """As clients of object stores name it."""


def answered(status: int) -> requests.HTTPError:
    response = requests.Response()
    response.status_code = status
    return requests.HTTPError("no", response=response)


def raised_from(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        OutsideError("the service asks for patience"),
        ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
        TimeoutError(),
        socket.gaierror(socket.EAI_AGAIN, "no name"),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EROFS, "Read-only file system"),
        OSError(errno.EHOSTUNREACH, "No route to host"),
        requests.ConnectionError("refused"),
        requests.ReadTimeout("late"),
        answered(503),
        answered(429),
        answered(409),
        redis_errors.BusyLoadingError("loading"),
        OperationalError("SELECT 1", {}, pymysql.OperationalError(2003, "Can't connect to MySQL server")),
        urllib.error.URLError(ConnectionRefusedError()),
        OperationalError("SELECT 1", {}, Exception("server closed the connection")),
        ReadTimeout(),
        EndpointConnectionError(),
        DatabaseAwayError("away"),
        HttpAwayError("away"),
        KafkaAwayError("away"),
        RegistryAwayError("away"),
        StorageAwayError("away"),
        raised_from(RuntimeError("the look-up failed"), ConnectionResetError()),
    ],
    ids=lambda error: f"{type(error).__name__} {error}",
)
def test_errors_of_the_surroundings_are_outside_errors(error: Exception):
    assert is_outside(error)


@pytest.mark.parametrize(
    "error",
    [
        KeyError("carrier"),
        FileNotFoundError(errno.ENOENT, "no such file", "model.bin"),
        PermissionError(errno.EACCES, "denied"),
        answered(404),
        answered(501),
        requests.exceptions.SSLError(UNTRUSTED),
        raised_from(urllib.error.URLError(UNTRUSTED), UNTRUSTED),
        redis_errors.AuthenticationError("invalid username-password pair"),
        redis_errors.AuthorizationError("no"),
        nats.errors.AuthorizationError(),
        OperationalError("SELECT 1", {}, Exception('FATAL: password authentication failed for user "me"')),
        OperationalError("SELECT 1", {}, pymysql.OperationalError(1045, "Access denied for user 'me'")),
        pymysql.OperationalError(1049, "Unknown database 'shop'"),
        sqlite3.OperationalError("no such table: totals"),
        OperationalError("SELECT 1", {}, sqlite3.OperationalError("no such table: totals")),
        raised_from(RuntimeError("the look-up failed"), ZeroDivisionError()),
        DataError("row 3 is malformed"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}",
)
def test_errors_of_the_application_are_not_outside_errors(error: Exception):
    assert not is_outside(error)


def test_an_error_in_the_data_stays_one_whatever_it_was_raised_from():
    error = DataError("row 3 is malformed")
    error.__cause__ = ConnectionError()
    assert not is_outside(error)
