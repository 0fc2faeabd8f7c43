"""Secrets are in no log, no traceback and no reason that is stored, whoever raised them."""

from __future__ import annotations

import ast
import io
import logging
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from streams_orchestration.cli import main
from streams_orchestration.cli.entry import streams
from streams_orchestration.console.plans import worker
from streams_orchestration.model.secrets import HIDDEN, masked, remember, remember_environment, remember_values
from streams_orchestration.operators.databases.address import resolve_url
from streams_orchestration.operators.references import resolved
from streams_orchestration.runtime.errors.operator_errors import OperatorError, OperatorFailure
from streams_orchestration.runtime.logs import secret_redaction
from streams_orchestration.runtime.logs.logs import open_operator_logger
from streams_orchestration.runtime.logs.secret_redaction import hide_secrets
from streams_orchestration.runtime.programs.failure import Failure

SECRET = "planted-Secret-4711"
ADDRESS = f"amqp://me:{SECRET}@host"

PROCESS = f"""
import logging, sys, threading, traceback
from streams_orchestration.runtime.logs.secret_redaction import hide_secrets
hide_secrets()
hide_secrets()
logging.basicConfig(format="%(message)s")
log = logging.getLogger("x")
def fail():
    try:
        raise OSError("{ADDRESS} is away")
    except OSError as error:
        raise ValueError("password={SECRET}") from error
log.warning("one %s", "{ADDRESS}")
log.warning("two {ADDRESS}")
logging.getLogger("y").warning("of the environment: %s", "x{SECRET}x")
try:
    fail()
except ValueError:
    log.exception("three")
    traceback.print_exc()
thread = threading.Thread(target=fail)
thread.start()
thread.join()
try:
    raise ExceptionGroup("four", [ValueError("{ADDRESS}"), OSError("{ADDRESS}")])
except ExceptionGroup:
    log.exception("four")
fail()
"""


@pytest.fixture(autouse=True)
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep what a process has of the interpreter's for the other tests."""
    factory = logging.getLogRecordFactory()
    monkeypatch.setattr(traceback.TracebackException, "format_exception_only", secret_redaction.format_exception_only)
    yield
    logging.setLogRecordFactory(factory)


@pytest.mark.slow
def test_a_process_shows_no_secret_in_its_logs_and_tracebacks(tmp_path: Path):
    environment = {"API_TOKEN": SECRET, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS.replace(f"x{SECRET}x", f"<{SECRET}>")],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert SECRET not in done.stderr
    assert done.stderr.count(f"amqp://me:{HIDDEN}@host is away") == 4
    assert done.stderr.count(f"ValueError: password={HIDDEN}") == 4
    assert f"of the environment: <{HIDDEN}>" in done.stderr
    assert "Exception in Thread-1" in done.stderr


def test_logs_and_uncaught_errors_show_no_secret_whoever_writes_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    monkeypatch.setenv("API_TOKEN", SECRET)
    hide_secrets()
    written = io.StringIO()
    logger = logging.Logger("of a library")  # it has a handler of its own, like a logger of a host or of Spark
    logger.addHandler(logging.StreamHandler(written))

    def fail() -> None:
        try:
            raise OSError(ADDRESS)
        except OSError as error:
            message = f"password={SECRET}"
            raise ValueError(message) from error

    logger.warning("argument %s, token %s", ADDRESS, SECRET)
    try:
        fail()
    except ValueError as error:
        logger.exception("it failed with %r", error)
        sys.excepthook(type(error), error, error.__traceback__)
    thread = threading.Thread(target=fail, name="receiver")
    thread.start()
    thread.join()
    shown = written.getvalue() + capsys.readouterr().err
    assert SECRET not in shown
    assert f"argument amqp://me:{HIDDEN}@host, token {HIDDEN}" in shown
    assert shown.count(f"OSError: amqp://me:{HIDDEN}@host") == 3
    assert shown.count(f"ValueError: password={HIDDEN}") == 3
    assert "Exception in receiver" in shown


PROCESSES = (
    *("cli/entry", "console/plans/worker", "orchestration/definitions", "orchestration/webserver"),
    *("runtime/hosts/host_process", "runtime/engine/spark/daemon", "runtime/engine/spark/fork_server"),
    "runtime/engine/spark/frames/analysis",
)
"""Modules in which a process begins that runs code of users, or has their secrets."""


@pytest.mark.parametrize("module", PROCESSES)
def test_each_process_hides_secrets_from_its_beginning(module: str):
    source = (Path(secret_redaction.__file__).parents[2] / f"{module}.py").read_text()
    calls = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Call)]
    assert {"hide_secrets", "api.hide_secrets"} & {ast.unparse(call.func) for call in calls}


def test_the_log_of_a_pe_shows_no_secret_in_any_process(tmp_path: Path):
    logger = open_operator_logger("A", str(tmp_path / "pe-0.log"))
    remember_values({"token": SECRET, "file": "a.csv"})
    try:
        msg = f"a.csv: {SECRET} of {ADDRESS}?apiKey={SECRET}"
        raise ValueError(msg)
    except ValueError:
        logger.exception("it failed with %s", SECRET)
    written = (tmp_path / "pe-0.log").read_text()
    assert SECRET not in written
    assert f"it failed with {HIDDEN}" in written
    assert "a.csv" in written


def test_a_failure_of_an_operator_shows_no_secret():
    failure = OperatorFailure("A", f"OSError: {ADDRESS}", "OSError", values=f"text 'password={SECRET}'")
    assert SECRET not in repr(failure)
    error = OperatorError("A", f"OSError: {ADDRESS}", failure)
    assert SECRET not in repr((error.reason, error.args))
    assert SECRET not in Failure(f"OSError: {ADDRESS}").message


@pytest.mark.parametrize(
    ("text", "parameter", "hidden"),
    [
        ("${env:PLANTED}", "token", True),
        ("${env:PLANTED_PASSWORD}", "url", True),
        ("amqp://me:${env:PLANTED}@host", "url", True),
        ("${file:FILE}", "anything", True),
        ("${env:PLANTED}", "region", False),
        ("http://${env:PLANTED}/a", "url", False),
    ],
)
def test_the_value_of_a_reference_is_hidden_if_it_may_be_a_secret(
    text: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, hidden: bool
):
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    monkeypatch.setenv("PLANTED", SECRET)
    monkeypatch.setenv("PLANTED_PASSWORD", SECRET)
    assert SECRET in resolved(text.replace("FILE", str(file)), parameter)
    assert masked(f"the library says '{SECRET}'") == f"the library says '{HIDDEN if hidden else SECRET}'"


@pytest.mark.parametrize(
    "url", ["{env:PLANTED}", "postgresql://me:{env:PASS}@host/d", "postgresql://host/d?password={env:PASS}"]
)
def test_the_password_of_a_database_is_hidden_in_whatever_is_said_of_it(url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLANTED", f"postgresql://me:{SECRET}@host/d")
    monkeypatch.setenv("PASS", SECRET)
    resolve_url(url)
    assert masked(f"the library says '{SECRET}'") == f"the library says '{HIDDEN}'"


def test_secrets_of_the_environment_are_known_by_the_names_of_variables_and_within_their_values():
    remember_environment({
        "PGPASSWORD": "by-name-1", "AWS_WEB_IDENTITY_TOKEN_FILE": "/run/secrets/token", "HOME": "/home/me",
        "PWD": "/home/me/work", "OLDPWD": "/home/me/other", "MYSQL_PWD": "by-name-4",
        "STREAMS_CATALOG": "postgresql://me:within-2@host/d", "STREAMS_STORAGE_OPTIONS": "secretKey=within-3 region=eu",
        "STREAMS_TOKEN": "short", "URL": "postgresql://me:${env:X}@host",
    })  # fmt: skip
    assert masked("by-name-1 within-2 within-3 by-name-4") == " ".join([HIDDEN] * 4)
    plain = "/run/secrets/token /home/me/work /home/me/other region eu short ${env:X} host"
    assert masked(plain) == plain


def test_an_expression_among_parameters_has_no_secrets():
    remember_values({"filter": "order_key=customer_id", "url": f"http://host/?apiKey={SECRET}"})
    assert masked(f"customer_id {SECRET}") == f"customer_id {HIDDEN}"


def test_a_secret_that_is_a_word_is_hidden_as_a_word_only():
    remember("postgres")
    assert masked("postgresql refuses postgres") == f"postgresql refuses {HIDDEN}"


def test_a_key_of_several_lines_is_hidden_line_by_line():
    remember(
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n"
    )
    assert masked("no key: MIIEvQIBADANBgkqhkiG9w0B") == f"no key: {HIDDEN}"
    assert masked("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


def test_dagster_stores_no_secret_of_an_error_and_its_causes():
    @dg.op
    def failing() -> None:
        try:
            msg = f"{ADDRESS} is away"
            raise OSError(msg)
        except OSError as error:
            msg = f"password={SECRET}"
            raise ValueError(msg) from error

    @dg.job
    def job() -> None:
        failing()

    hide_secrets()
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance, raise_on_error=False)
        records = instance.all_logs(result.run_id)
    assert any(HIDDEN in dg.serialize_value(each) or "\\u2022" in dg.serialize_value(each) for each in records)
    assert not any(SECRET in dg.serialize_value(each) for each in records)


def test_a_command_shows_no_secret_of_an_error_that_is_not_expected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def failing(*_: object, **__: object) -> None:
        msg = f"{ADDRESS} is away"
        raise RuntimeError(msg)

    monkeypatch.setattr(streams, "main", failing)
    assert main(["-v", "status"]) == 1
    shown = "".join(capsys.readouterr())
    assert "Traceback" in shown or HIDDEN in shown
    assert SECRET not in shown


def test_the_console_shows_no_secret_of_an_error_that_is_not_expected(monkeypatch: pytest.MonkeyPatch):
    def failing(_: object) -> None:
        msg = f"{ADDRESS} is away"
        raise RuntimeError(msg)

    class Task:
        spec = "spec.yaml"

    monkeypatch.setattr(worker, "answer", failing)
    assert HIDDEN in str(worker.answered(Task()))  # type: ignore[arg-type]
    assert SECRET not in str(worker.answered(Task()))  # type: ignore[arg-type]
