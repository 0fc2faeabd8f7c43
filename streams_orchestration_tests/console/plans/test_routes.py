from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.console.access import Access
from streams_orchestration.console.app import create_app
from streams_orchestration.console.plans.choices import ChoiceError
from streams_orchestration.console.plans.compilers import MAX_CACHED_PLANS, MAX_WAITING_PAGES, Compilers
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.console.responses import BusyError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.console.deployed import Deployed
from streams_orchestration_tests.console.plans.specs import write_spec

OWN = "127.0.0.1:3100"
TOKEN = "a-token-of-some-length"


def client_of(compilers: Compilers, token: str | None = None) -> TestClient:
    app = create_app(SnapshotReader(compilers.home), Access("127.0.0.1", 3100, token), compilers)
    return TestClient(app, base_url=f"http://{OWN}")


@pytest.fixture
def compilers(tmp_path: Path) -> Iterator[Compilers]:
    made = Compilers(Home(tmp_path / "home"), (write_spec(tmp_path),))
    yield made
    made.close()


@pytest.mark.parametrize(
    "name", ["other.yaml", "other.py", "other.py:app", "../other.yaml", "planned.yaml", "/etc/passwd"]
)
def test_only_specs_of_the_command_line_are_read_or_run(compilers: Compilers, tmp_path: Path, name: str):
    ran = tmp_path / "ran"
    write_spec(tmp_path, f"open({str(ran)!r}, 'w')", "other.py")
    write_spec(tmp_path, name="other.yaml")
    client = client_of(compilers)
    for spec in (name, str(tmp_path / name)):
        if spec == str(compilers.specs[0]):
            continue
        answer = client.post("/api/plans", json={"spec": spec})
        assert answer.status_code == 404
        assert f"`streams console {spec}`" in answer.json()["error"]
    assert not ran.exists()
    assert compilers.spare is None, "no process was started"


@pytest.mark.parametrize("body", [{}, {"spec": None}, {"spec": ["x"]}, []])
def test_a_request_without_a_spec_is_refused(compilers: Compilers, body: object):
    assert client_of(compilers).post("/api/plans", json=body).status_code == 400


@pytest.mark.parametrize("choices", [[], {"width": {"P": 1}}, {"profile": "x"}])
def test_choices_of_another_form_start_no_process(compilers: Compilers, choices: object):
    answer = client_of(compilers).post("/api/plans", json={"spec": str(compilers.specs[0]), "choices": choices})
    assert answer.status_code == 400
    assert compilers.spare is None


def test_a_token_guards_plans(compilers: Compilers):
    client = client_of(compilers, TOKEN)
    body = {"spec": str(compilers.specs[0])}
    assert client.post("/api/plans", json=body).status_code == 401
    assert client.get("/api/plans").status_code == 401
    assert client.get("/compile").status_code == 200
    foreign = {"origin": "http://example.org"}
    assert client_of(compilers).post("/api/plans", json=body, headers=foreign).status_code == 403
    assert client_of(compilers).post("/api/plans", data=body).status_code == 415


def test_the_graph_after_each_stage_shows_what_is_decided_by_then(compilers: Compilers):
    number = compilers.keep(compile_spec(compilers.specs[0]))
    client = client_of(compilers)
    seen: dict[str, dict[str, Any]] = {
        stage: client.get(f"/api/plans/{number}/graph?stage={stage}").json() for stage in BY_NAME
    }
    assert [len(each["operators"]) for each in seen.values()] == [3, 4, 4, 4, 4, 4, 4, 4]
    kinds = {stage: {box["kind"] for box in each["boxes"]} for stage, each in seen.items()}
    assert "pe" not in kinds["parallel_expanded_graph"]
    assert "pe" in kinds["fusion_plan"]
    passing = {stage: {edge["passing"] for edge in each["edges"]} for stage, each in seen.items()}
    assert passing["thread_plan"] == {""}
    assert "" not in passing["copy_plan"]
    assert client.get(f"/api/plans/{number}/graph?stage=none").status_code == 400


def test_a_part_of_a_plan_is_explained(compilers: Compilers):
    number = compilers.keep(compile_spec(compilers.specs[0]))
    document = client_of(compilers).get(f"/api/plans/{number}/subject?kind=operator&name=P[1]").json()
    assert document["operator"] == "Filter"
    assert document["explanation"]["sections"]


def test_plans_are_kept_for_a_while(compilers: Compilers):
    compilation = compile_spec(compilers.specs[0])
    numbers = [compilers.keep(compilation) for _ in range(MAX_CACHED_PLANS + 1)]
    client = client_of(compilers)
    assert client.get(f"/api/plans/{numbers[0]}/graph?stage=copy_plan").status_code == 404
    assert client.get(f"/api/plans/{numbers[-1]}/graph?stage=copy_plan").status_code == 200


def test_the_plan_of_a_deployed_application_is_read_from_the_catalog(deployed: Deployed):
    client = client_of(Compilers(deployed.home))
    assert client.get("/api/plans").json() == {"specs": [], "applications": ["app"]}
    document = client.get("/api/applications/app/plan").json()
    assert document["deployed"] is True
    assert [each["name"] for each in document["stages"]][:3] == [*BY_NAME][:3]
    assert client.get(f"/api/plans/{document['plan']}/graph?stage=fusion_plan").json()["operators"]
    assert client.get("/api/applications/none/plan").status_code == 404


def test_no_more_pages_wait_than_may(compilers: Compilers):
    with ExitStack() as waiting:
        for _ in range(MAX_WAITING_PAGES + 1):
            waiting.enter_context(compilers.waits())
        with pytest.raises(BusyError), compilers.waits():
            pass
    with compilers.waits():
        pass


@pytest.mark.slow
def test_a_process_compiles_and_one_that_takes_too_long_is_ended(tmp_path: Path):
    never = write_spec(tmp_path, "while True:\n    pass\n", "never.py")
    spec = write_spec(tmp_path)
    compilers = Compilers(Home(tmp_path / "home"), (spec, never))
    with client_of(compilers) as client:
        first = client.post("/api/plans", json={"spec": str(spec)}).json()
        assert len(first["stages"]) == len(BY_NAME)
        compilers.seconds = 0.5
        answer = client.post("/api/plans", json={"spec": str(never)})
        assert answer.status_code == 400
        assert "compiling took more than 0.5 s" in answer.json()["error"]
    assert compilers.spare is None


@pytest.mark.slow
def test_a_compilation_ends_with_the_console(tmp_path: Path):
    never = write_spec(tmp_path, "while True:\n    pass\n", "never.py")
    compilers = Compilers(Home(tmp_path / "home"), (never,))

    async def stopped() -> None:
        compiling = asyncio.create_task(compilers.compile(str(never), {}, None))
        while compilers.running is None:
            await asyncio.sleep(0)
        running = compilers.running
        compilers.close()
        with pytest.raises(ChoiceError, match="ended"):
            await compiling
        assert running.returncode is not None

    asyncio.run(stopped())
    assert compilers.spare is None
