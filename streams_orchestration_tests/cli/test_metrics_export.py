"""`streams metrics` writes, serves or sends; `streams status --watch` shows again and again."""

from __future__ import annotations

import importlib.util
import socket
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from rich.text import Text

from streams_orchestration.cli import main, observing
from streams_orchestration.cli.interrupts import Interrupts
from streams_orchestration.cli.metrics_export import MAX_CLIENT_CONNECTIONS, metrics, serve_metrics
from streams_orchestration.operators.serving.http_server import HttpServer
from streams_orchestration.runtime import api
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.observing.exposition import opentelemetry
from streams_orchestration.runtime.storage.home import Home


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    return Home(tmp_path)


def test_metrics_are_written_once_without_an_option(capsys: pytest.CaptureFixture[str]):
    assert main(["metrics"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# HELP streams_catalog_up")
    assert "streams_state_directory_size_bytes " in text


def test_metrics_are_served_and_nothing_is_left_behind(home: Home, capsys: pytest.CaptureFixture[str]):
    with ExitStack() as stack:
        serve_metrics(home, "127.0.0.1", 0, stack)
        url = capsys.readouterr().err.split()[3]
        with urllib.request.urlopen(url) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            assert b"streams_catalog_up 1.0" in answer.read()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url)


def test_idle_connections_keep_no_scraper_out_and_a_name_that_leads_here_is_refused(
    home: Home, capsys: pytest.CaptureFixture[str]
):
    with ExitStack() as stack:
        serve_metrics(home, "127.0.0.1", 0, stack)
        url = capsys.readouterr().err.split()[3]
        address = ("127.0.0.1", urlsplit(url).port)
        for _ in range(2 * MAX_CLIENT_CONNECTIONS):
            stack.enter_context(socket.create_connection(address))
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(urllib.request.Request(url, headers={"Host": f"example.org:{address[1]}"}))


def test_a_server_that_ends_by_itself_ends_the_command(monkeypatch: pytest.MonkeyPatch):
    def run(_self: object) -> None:
        message = "the event loop is gone"
        raise RuntimeError(message)

    monkeypatch.setattr(HttpServer, "run", run)
    with pytest.raises(RuntimeError, match="the event loop is gone"):
        metrics(("127.0.0.1", 0), otlp=False)


def test_a_port_that_is_taken_is_an_error(home: Home, capsys: pytest.CaptureFixture[str]):
    with ExitStack() as stack:
        serve_metrics(home, "127.0.0.1", 0, stack)
        port = capsys.readouterr().err.split()[3].split(":")[2].partition("/")[0]
        assert main(["metrics", "--serve", port]) == 2
    assert f"127.0.0.1:{port} cannot be listened on: Address already in use" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["", "x", "99999", ":", "host:", "::1:80", "-1", "1.5"])
def test_a_wrong_address_to_serve_metrics_at_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]):
    assert main(["metrics", f"--serve={wrong}"]) == 2
    assert "is not [HOST:]PORT" in capsys.readouterr().err


def test_otlp_names_its_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert main(["metrics", "--otlp"]) == 1
    assert "pip install 'streams-orchestration[otlp]'" in capsys.readouterr().err


def test_otlp_sends_at_once_and_until_it_is_ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    done: list[str] = []

    class Sender:
        def __init__(self, home: Home) -> None:
            done.append(str(home.root))

        def send(self) -> None:
            done.append("sent")

        def close(self) -> None:
            done.append("closed")

    monkeypatch.setattr(api, "SnapshotSender", Sender)
    monkeypatch.setattr(Interrupts, "requested", property(lambda _self: done.count("sent") == 2))
    monkeypatch.setattr(Interrupts, "pause", lambda _self, _seconds, _over: done.append("paused"))
    assert threading.current_thread() is threading.main_thread()
    assert main(["metrics", "--otlp"]) == 0
    assert done[1:] == ["sent", "paused", "sent", "paused", "closed"]
    assert "every 60 s" in capsys.readouterr().err


def test_an_interval_that_is_none_is_an_error_of_the_command_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(opentelemetry.INTERVAL, "soon")
    assert main(["metrics", "--otlp"]) == 2


def test_a_status_is_watched_until_it_is_ended(capsys: pytest.CaptureFixture[str]):
    polls: list[Any] = ["one", CatalogUnavailableError("the catalog is away"), "two"]

    def render() -> Text:
        seen = polls.pop(0)
        if isinstance(seen, Exception):
            raise seen
        return Text(seen)

    def pause() -> None:
        if not polls:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observing.show_repeatedly(render, pause)
    assert capsys.readouterr().out.split() == ["one", *["the", "catalog", "is", "away", "one", "two"]]


@pytest.mark.parametrize("other", [["--format", "json"], ["--timeline", "x.svg"]])
def test_watch_cannot_be_combined_with_a_document(other: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["status", "app", "--watch", *other]) == 2
    assert "Leave one of the two out" in capsys.readouterr().err


def test_watching_what_is_not_deployed_is_an_error():
    assert main(["status", "nobody", "--watch"]) == 1
