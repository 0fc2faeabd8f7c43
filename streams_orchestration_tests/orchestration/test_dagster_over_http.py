"""A project with a Kafka and a file application in two state directories, driven by GraphQL over HTTP."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest
import requests

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import POLL_SECONDS, TIMEOUT_SECONDS, wait_for
from streams_orchestration_tests.orchestration.dagster_page import commands, run, started, two_applications
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.servers.kafka import Broker
from streams_orchestration_tests.waiting import until

pytestmark = [pytest.mark.deep, pytest.mark.java, pytest.mark.usefixtures("no_host_stays")]

CLICKS = """\
specVersion: 1
application: copies
graph:
  - name: Numbers
    operator: KafkaSource
    parameters: {{brokers: "{brokers}", topic: {topic}}}
    outputs: [{{stream: Numbers, schema: "n bigint"}}]
    annotations: {{consistent: {{trigger: periodic, period: 1.0}}}}
  - {{name: Copies, operator: FileSink, inputs: [Numbers], parameters: {{file: copies, format: csv}}}}
"""
WORKSPACE = "load_from: [{python_module: {module_name: reports.definitions, location_name: reports}}]"
START = """
mutation ($selector: SensorSelector!) {
  startSensor(sensorSelector: $selector) { __typename ... on PythonError { message } }
}"""
RUNS = """
query ($job: String!) {
  runsOrError(filter: {pipelineName: $job}) { ... on Runs { results { status } } }
}"""
MATERIALIZED = """
query ($key: AssetKeyInput!) {
  assetOrError(assetKey: $key) { ... on Asset { assetMaterializations(limit: 1) { timestamp } } }
}"""


class Page:
    """Dagster's web server, as a program sees it."""

    def __init__(self, port: int) -> None:
        from dagster_graphql import DagsterGraphQLClient  # half a second in each worker otherwise

        self.client = DagsterGraphQLClient("127.0.0.1", port_number=port)
        self._address = f"http://127.0.0.1:{port}/graphql"

    def ask(self, query: str, **variables: Any) -> Any:
        """Return the answer to a query."""
        answer = requests.post(self._address, json={"query": query, "variables": variables}, timeout=60).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def answers(self) -> bool:
        """Return True once it answers."""
        with suppress(Exception):
            return "version" in self.ask("query { version }")
        return False

    def run(self, job: str) -> None:
        """Run a job, which must succeed."""
        number = self.client.submit_job_execution(job, repository_location_name="reports")
        ended = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
        status = until(
            lambda: (s := self.client.get_run_status(number)) in ended and s,
            f"{job} ends",
            TIMEOUT_SECONDS,
            POLL_SECONDS,
        )
        assert status == dg.DagsterRunStatus.SUCCESS, job

    def has_run(self, job: str) -> bool:
        """Return True if a run of a job has succeeded."""
        return "SUCCESS" in [each["status"] for each in self.ask(RUNS, job=job)["runsOrError"]["results"]]

    def is_materialized(self, *key: str) -> bool:
        """Return True if an asset was materialized."""
        found = self.ask(MATERIALIZED, key={"path": list(key)})["assetOrError"]
        return bool(found.get("assetMaterializations"))


def numbers(home: Path) -> list[int]:
    """Return the numbers that the sink of `copies` shows."""
    files = sorted((home / "results" / "copies" / "copies").glob("part-*"))
    return sorted(pl.concat([pl.read_csv(file) for file in files])["n"].to_list()) if files else []


def test_graphql_runs_heals_and_stops_a_kafka_and_a_file_application(scaffolded: Path, tmp_path: Path, kafka: Broker):
    topic = kafka.topic()
    kafka.send(topic, [f'{{"n": {number}}}' for number in range(100)])
    spec = CLICKS.format(brokers=kafka.address, topic=topic)
    project = two_applications(scaffolded, tmp_path / "project", spec)
    home, other = project / "home", project / "other"
    (project / "workspace.yaml").write_text(WORKSPACE)
    run(project, "dg", "check", "defs")
    (serve,), (daemon,) = commands("python "), commands("dagster-daemon ")
    port = free_port()
    serve = [{"3000": str(port), "python": sys.executable}.get(word, word) for word in serve]
    page = Page(port)
    with ExitStack() as stack:
        stack.enter_context(started(project, serve, project / "webserver.log"))
        until(page.answers, (project / "webserver.log").read_text, TIMEOUT_SECONDS, POLL_SECONDS)
        stack.enter_context(started(project, daemon, project / "daemon.log"))
        location = {"repositoryLocationName": "reports", "repositoryName": "__repository__"}
        automation = location | {"sensorName": "automation"}
        assert page.ask(START, selector=automation)["startSensor"]["__typename"] == "Sensor"
        page.run("numbers__redeploy")
        wait_for(Home(home), lambda status: status.state == "COMPLETED", "numbers")
        until(lambda: page.is_materialized("largest"), "automation follows the sink", TIMEOUT_SECONDS, POLL_SECONDS)
        page.run("copies__redeploy")
        until(lambda: numbers(other) == list(range(100)), "the messages come through", TIMEOUT_SECONDS, POLL_SECONDS)
        (host,) = wait_for(Home(other), lambda status: status.hosts[0].alive, "copies").hosts
        assert host.row.pid is not None
        os.kill(host.row.pid, signal.SIGKILL)
        kafka.send(topic, [f'{{"n": {number}}}' for number in range(100, 200)])
        until(lambda: page.has_run("copies__reset"), "the reset is a run", TIMEOUT_SECONDS, POLL_SECONDS)
        until(lambda: numbers(other) == list(range(200)), "nothing is lost or doubled", TIMEOUT_SECONDS, POLL_SECONDS)
        page.run("copies__cancel")
        assert wait_for(Home(other), lambda status: status.state == "STOPPED", "copies")
