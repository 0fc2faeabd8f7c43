from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from streams_orchestration.console import app
from streams_orchestration.console.guard import HEADERS
from streams_orchestration.console.histories import HISTORY_SECONDS, History
from streams_orchestration.console.reader import SnapshotReader, pause_after
from streams_orchestration.operators.loading.import_path import ImplementationError
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import OtherVersionError
from streams_orchestration.runtime.settings.settings import SAMPLES
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.console.clients import OWN, client_of
from streams_orchestration_tests.console.deployed import CAUSE, Deployed
from streams_orchestration_tests.fake_functions import replace_function

TOKEN = "a-token-of-some-length"


@pytest.fixture
def client(deployed: Deployed) -> Iterator[TestClient]:
    yield client_of(deployed.home)


def test_deployed_applications_are_listed(client: TestClient, deployed: Deployed):
    (listed,) = client.get("/api/applications").json()
    assert (listed["name"], listed["state"], listed["pes"], listed["failed"]) == ("app", "RUNNING", 3, [])
    with deployed.failed(1):
        assert client.get("/api/applications").json()[0]["failed"] == ["region-0"]


def test_prometheus_gets_the_metrics_of_what_may_be_shown(deployed: Deployed):
    answer = client_of(deployed.home).get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'streams_application_state{application="app",state="RUNNING"} 1.0' in answer.text
    assert client_of(deployed.home, only="other").get("/metrics").text.splitlines()[-1] == "streams_catalog_up 0.0"
    assert client_of(deployed.home, TOKEN).get("/metrics").status_code == 401
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert client_of(deployed.home, TOKEN).get("/metrics", headers=bearer).status_code == 200


def test_nothing_is_listed_where_nothing_is_deployed(tmp_path: Path):
    assert client_of(Home(tmp_path / "none")).get("/api/applications").json() == []


def test_the_state_has_rates_cuts_and_failures(client: TestClient, deployed: Deployed):
    state = client.get("/api/applications/app/state").json()
    names = [each["name"] for each in client.get("/api/applications/app/graph").json()["operators"]]
    assert sorted(state["operators"]) == sorted(names)
    assert state["operators"]["Rows"]["out"][0] > 0
    (unit,) = state["units"]
    assert [cut[0] for cut in unit["cuts"]] == [unit["completed_epoch"]]
    with deployed.failed(1):
        (failure,) = client.get("/api/applications/app/state").json()["failures"]
    assert CAUSE.rstrip(".") in failure["reason"]
    assert "streams reset app --unit region-0" in failure["remedy"]


def test_a_working_application_has_no_trouble(client: TestClient):
    state = client.get("/api/applications/app/state").json()
    assert [pe["trouble"] for pe in state["pes"]] == [None] * 3
    assert [unit["broken"] for unit in state["units"]] == [None]


def test_a_failed_pe_is_in_trouble_and_its_unit_is_broken(client: TestClient, deployed: Deployed):
    with deployed.failed(1):
        state = client.get("/api/applications/app/state").json()
    assert [bool(pe["trouble"]) for pe in state["pes"]] == [False, True, False]
    assert CAUSE in state["pes"][1]["trouble"]
    (unit,) = state["units"]
    assert CAUSE in unit["broken"]["cause"]
    assert unit["broken"]["since"] >= unit["since"]


def test_every_pe_of_a_host_that_is_gone_is_in_trouble_since_its_last_heartbeat(client: TestClient, deployed: Deployed):
    with deployed.gone(silent=30.0):
        state = client.get("/api/applications/app/state").json()
    for cause in (*(pe["trouble"] for pe in state["pes"]), state["units"][0]["broken"]["cause"]):
        assert re.search(r"host 0 \(pid \d+\) is gone", cause)
    assert 30 <= state["at"] - state["units"][0]["broken"]["since"] < 3600


@pytest.mark.parametrize("ended", ["COMPLETED", "STOPPED"])
def test_nothing_is_expected_of_the_host_of_what_has_ended(client: TestClient, deployed: Deployed, ended: str):
    before = client.get("/api/applications/app/state").json()["units"][0]["state"]
    deployed.set(tables.unit, state=ended)
    try:
        with deployed.gone():
            state = client.get("/api/applications/app/state").json()
    finally:
        deployed.set(tables.unit, state=before)
    assert [pe["trouble"] for pe in state["pes"]] == [None] * 3
    assert [unit["broken"] for unit in state["units"]] == [None]


@pytest.mark.parametrize(
    ("kind", "name", "part"),
    [
        ("operator", "PerKey[0].Totals", "RunningTotals"),
        ("operator", "PerKey.Totals", "RunningTotals"),
        ("stream", "Doubled", "k string, n bigint"),
        ("pe", "1", "PE 1"),
        ("region", "0", "region"),
    ],
)
def test_a_subject_says_what_it_is_and_why(client: TestClient, kind: str, name: str, part: str):
    actual = client.get("/api/applications/app/subject", params={"kind": kind, "name": name}).json()
    assert part in json.dumps(actual)
    facts = [fact for section in actual["explanation"]["sections"] for fact in section["facts"]]
    assert any(fact["rules"] for fact in facts)


@pytest.mark.parametrize(
    ("path", "status", "part"),
    [
        ("/api/applications/nothing/state", 404, "nothing"),
        ("/api/applications/nothing/events", 404, "nothing"),
        ("/api/applications/app/graph?view=other", 400, "physical"),
        ("/api/applications/app/subject?kind=operator&name=Totls", 404, "Totls"),
        ("/api/applications/app/subject?kind=other&name=x", 400, "`kind` must be one of"),
        ("/api/applications/app/subject?kind=pe&name=one", 400, "number"),
        ("/api/applications/app/subject?kind=pe&name=99", 404, "no PE 99"),
        ("/api/applications/app/subject?kind=operator", 400, "name"),
        ("/api/applications/app/sample", 400, "`stream` must be the name"),
        ("/api/applications/nothing/sample?stream=Doubled", 404, "nothing"),
    ],
)
def test_an_unknown_name_in_a_request_is_an_error_that_names_it(deployed: Deployed, path: str, status: int, part: str):
    answer = client_of(deployed.home, only="app").get(path)
    assert answer.status_code == status
    assert part in answer.json()["error"]


def test_a_class_that_can_no_longer_be_imported_is_named(deployed: Deployed, monkeypatch: pytest.MonkeyPatch):
    def gone(*_: object) -> None:
        message = "flights:Delays: the module cannot be imported"
        raise ImplementationError(message)

    monkeypatch.setattr(app, "subject", gone)
    answer = client_of(deployed.home, only="app").get("/api/applications/app/subject?kind=operator&name=Double")
    assert (answer.status_code, answer.json()["error"]) == (503, "flights:Delays: the module cannot be imported")


def test_tuples_are_not_shown_where_the_deployment_does_not_let_them(client: TestClient):
    answer = client.get("/api/applications/app/sample?stream=Doubled").json()
    assert answer["sample"] is None
    assert SAMPLES in answer["reason"]


def test_the_last_sample_stays_until_another_comes_or_samples_are_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(SAMPLES, "2")
    application = Deployed(tmp_path)
    client = client_of(application.home)

    def sampled() -> dict[str, Any]:
        return client.get("/api/applications/app/sample?stream=Doubled").json()

    assert (sampled()["sample"], "in transit" in sampled()["reason"]) == (None, True)
    application.local.step(application.local.programs[0])
    first = sampled()
    assert (len(first["sample"]["rows"]), first["reason"]) == (2, None)
    application.set(tables.segment, retracted=True)
    assert sampled()["sample"] == first["sample"]
    assert "in transit" in sampled()["reason"]
    with application.local.catalog.write() as connection:
        connection.execute(update(tables.application).values(settings={}))
    assert sampled()["sample"] is None


def test_a_console_of_one_application_shows_no_other(deployed: Deployed):
    client = client_of(deployed.home, only="other")
    assert client.get("/api/applications").json() == []
    for part in ("graph", "state", "events", "subject?kind=pe&name=0", "sample?stream=Doubled"):
        assert client.get(f"/api/applications/app/{part}").status_code == 404


def test_an_application_of_another_version_is_said_to_be_unreadable(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
):
    def read_status(_catalog: Catalog, application: str) -> NoReturn:
        raise OtherVersionError(application)

    async def second() -> str:
        events = SnapshotReader(deployed.home).events("app")
        await anext(events)
        return await anext(events)

    replace_function(monkeypatch, api, "read_status", read_status)
    event = asyncio.run(second())
    assert event.startswith("event: unreadable")
    assert "another version" in event


@pytest.mark.parametrize(
    ("cost", "shown", "pause"),
    [
        (0.0, True, 2.0),
        (0.019, True, 2.0),
        (0.1, True, 10.0),
        (60.0, True, 20.0),
        (0.0, False, 5.0),
        (0.1, False, 10.0),
    ],
)
def test_looks_that_take_long_come_less_often(cost: float, shown: bool, pause: float):
    assert pause_after(cost, shown=shown) == pytest.approx(pause)


def test_the_history_grows_by_events_and_by_no_request(deployed: Deployed):
    async def read() -> None:
        events = reader.events("app")
        await anext(events)
        await anext(events)

    reader = SnapshotReader(deployed.home)
    client = client_of(deployed.home, reader=reader)
    for path in ("", "/app/state"):
        assert client.get(f"/api/applications{path}").status_code == 200
    assert reader.histories == {}
    asyncio.run(read())
    for name in ("Rows", "PE 0"):
        series = client.get("/api/applications/app/history", params={"name": name}).json()
        assert len(series["at"]) == len(series["rate"]) == 1
    assert client.get("/api/applications/app/history", params={"name": "none"}).json()["at"] == []


def test_the_history_ends_after_a_quarter_of_an_hour():
    history = History()
    for at in range(0, 3000, 10):
        history.add({"at": at, "operators": {"A": {"rate": at, "cores": None}}, "pes": []})
    document = history.document("A")
    assert document["at"][-1] - document["at"][0] == HISTORY_SECONDS
    assert document["rate"] == document["at"]
    assert set(document["cores"]) == {None}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "example.org"}, 421),
        ({"host": "127.0.0.1:3101"}, 421),
        ({"origin": "http://example.org"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"http://{OWN}"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_pages_of_others_are_refused(tmp_path: Path, headers: dict[str, str], status: int):
    answer = client_of(Home(tmp_path)).get("/", headers=headers)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_a_link_from_elsewhere_leads_to_the_page_only(tmp_path: Path):
    client = client_of(Home(tmp_path))
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/api/applications", headers=link).status_code == 403


def test_a_token_is_exchanged_for_a_session(tmp_path: Path):
    client = client_of(Home(tmp_path), TOKEN)
    assert client.get("/").status_code == client.get("/static/console.js").status_code == 200
    assert client.get("/api/applications").status_code == 401
    assert client.get("/api/session").json() == {"authorized": False, "allow_actions": False}
    assert client.post("/api/session", json={"token": "guessed-guessed-guessed"}).status_code == 401
    answer = client.post("/api/session", json={"token": TOKEN})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert client.get("/api/applications").status_code == 200


def test_a_form_of_another_page_cannot_begin_a_session(tmp_path: Path):
    client = client_of(Home(tmp_path), TOKEN)
    answer = client.post("/api/session", content=json.dumps({"token": TOKEN}), headers={"content-type": "text/plain"})
    assert answer.status_code == 415


def test_nothing_is_reset_unless_actions_are_allowed(client: TestClient, deployed: Deployed):
    before = client.get("/api/applications/app/state").json()["units"][0]["generation"]
    assert client.post("/api/applications/app/reset", json={"unit": "region-0"}).status_code == 403
    acting = client_of(deployed.home, actions=True)
    for headers in ({"origin": "http://example.org"}, {"content-type": "text/plain"}):
        refused = acting.post("/api/applications/app/reset", content=b'{"unit": "region-0"}', headers=headers)
        assert refused.status_code in (403, 415)
    assert client.get("/api/applications/app/state").json()["units"][0]["generation"] == before


@pytest.mark.parametrize(
    ("name", "body", "status", "part"),
    [
        ("app", {"unit": "region-7"}, 409, "there is no unit region-7"),
        ("app", {}, 400, "`unit` must be the name"),
        ("app", {"unit": "region-0", "force": "yes"}, 400, "`force` true or false"),
        ("nothing", {"unit": "region-0"}, 404, "nothing"),
    ],
)
def test_a_wrong_reset_is_refused(deployed: Deployed, name: str, body: object, status: int, part: str):
    answer = client_of(deployed.home, only="app", actions=True).post(f"/api/applications/{name}/reset", json=body)
    assert answer.status_code == status
    assert part in answer.json()["error"]


@pytest.mark.usefixtures("no_hosts")
def test_a_unit_is_reset_where_actions_are_allowed(tmp_path: Path):
    application = Deployed(tmp_path)
    client = client_of(application.home, actions=True)
    before = client.get("/api/applications/app/state").json()["units"][0]
    answer = client.post("/api/applications/app/reset", json={"unit": "region-0"}).json()
    after = client.get("/api/applications/app/state").json()["units"][0]
    assert answer == {"unit": "region-0", "generation": after["generation"]}
    assert (after["generation"], after["resets"]) == (before["generation"] + 1, before["resets"] + 1)


def test_a_page_needs_nothing_from_elsewhere():
    page = (Path(__file__).parents[2] / "streams_orchestration" / "console" / "static" / "index.html").read_text()
    assert set(re.findall(r'(?:src|href)="([^"]+)"', page)) == {"data:,", "/static/console.css", "/static/console.js"}
    assert "style=" not in page


@pytest.mark.slow
def test_a_signal_ends_the_console_while_a_page_listens(deployed: Deployed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streams_orchestration", "console", "app", "--port", str(port)]
    environment = {"STREAMS_HOME": str(deployed.home.root), "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as console:
        assert console.stdout is not None
        assert console.stdout.readline() == f"http://127.0.0.1:{port}/\n"
        with socket.create_connection(("127.0.0.1", port)) as page:
            page.sendall(f"GET /api/applications/app/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            received = b""
            while b"event: snapshot" not in received:
                received += page.recv(4096)
            console.send_signal(signal.SIGTERM)
            while page.recv(65536):
                pass
        assert console.wait() == 0
        assert console.stderr is not None
        assert "Traceback" not in console.stderr.read()
