"""Requests that are not requests of a page: refused with a reason, and never a failure of the console."""

from __future__ import annotations

from typing import NoReturn

import pytest

from streams_orchestration.console.guard import HEADERS
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration_tests.console.clients import client_of
from streams_orchestration_tests.console.deployed import Deployed
from streams_orchestration_tests.fake_functions import replace_function

BODIES = {
    "nothing": b"",
    "an array": b"[]",
    "a number": b"1",
    "a text": b'"x"',
    "half of an object": b"{",
    "no Unicode": b"\xff",
    "nested deeply": b"[" * 60_000,
    "a number of thousands of digits": b'{"a":' + b"9" * 5000 + b"}",
    "too long": b" " * 70_000,
}
SESSION, RESET, PLANS = "/api/session", "/api/applications/app/reset", "/api/plans"
REQUESTS = {f"{path} {name}": (path, body) for path in (SESSION, RESET, PLANS) for name, body in BODIES.items()} | {
    "half of a character as token": (SESSION, b'{"token": "\\ud800"}'),
    "a number as token": (SESSION, b'{"token": 7}'),
    "nothing as token": (SESSION, b'{"token": null}'),
    "half of a character as unit": (RESET, b'{"unit": "\\udfff"}'),
    "half of a character as spec": (PLANS, b'{"spec": "\\ud800"}'),
    "an array as spec": (PLANS, b'{"spec": ["a"]}'),
}


@pytest.mark.parametrize(("path", "body"), REQUESTS.values(), ids=list(REQUESTS))
def test_a_body_that_is_no_json_object_or_no_text_is_refused_so(deployed: Deployed, path: str, body: bytes):
    client = client_of(deployed.home, actions=True)
    answer = client.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("kind", ["pe", "region"])
def test_a_number_of_thousands_of_digits_is_refused(deployed: Deployed, kind: str):
    query = {"kind": kind, "name": "9" * 5000}
    assert client_of(deployed.home).get("/api/applications/app/subject", params=query).status_code == 400


def test_a_scraper_that_asks_for_a_version_that_is_none_gets_the_text_format(deployed: Deployed):
    answer = client_of(deployed.home).get("/metrics", headers={"accept": "application/openmetrics-text; version=none"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")


def test_an_origin_that_is_no_address_is_refused_as_foreign(deployed: Deployed):
    client = client_of(deployed.home)
    for origin in ("http://[", "http://[::1", "http://[x]/", "\u00ff"):
        assert client.get("/", headers={b"origin": origin.encode("latin-1")}).status_code == 403


def test_a_defect_is_answered_500_and_logged(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def read_status(_catalog: Catalog, _application: str) -> NoReturn:
        raise KeyError

    replace_function(monkeypatch, api, "read_status", read_status)
    answer = client_of(deployed.home).get("/api/applications/app/state")
    assert answer.status_code == 500
    assert answer.json()["error"] == "The console failed. The terminal in which it runs shows the reason."
    assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]
    assert "KeyError" in caplog.text
