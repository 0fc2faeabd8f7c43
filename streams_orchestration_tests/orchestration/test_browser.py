"""Dagster's own pages as a browser shows them: a healthy, a failing and a stopped application."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.orchestration.definitions import build_definitions
from streams_orchestration.orchestration.instance import LOCATION, dagster_home, dagster_instance
from streams_orchestration.orchestration.sensors import SENSOR
from streams_orchestration.orchestration.ui import WEBSERVER
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.console.browsing import MARKS, TIMEOUT_MILLISECONDS, Seen, browser, playwright  # noqa: F401  a fixture
from streams_orchestration_tests.orchestration.conftest import DEMO, Runtime, evaluated, record
from streams_orchestration_tests.orchestration.statuses import failed, running
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.waiting import until

pytestmark = [*MARKS[1:], pytest.mark.deep]

SERVER_SECONDS = 120.0
"""The seconds in which the web server starts, or ends, on a busy machine."""


def statuses() -> dict[str, ApplicationStatus]:
    """Return the status of each application, by its name."""
    return {
        "healthy": running(application="healthy"),
        "failing": failed(running(application="failing"), attempts=5, state="MAXIMUM_RESET_ATTEMPTS_REACHED"),
        "stopped": running(application="stopped", state="STOPPED"),
    }


def deployed(specs: Path, home: Home, runtime: Runtime) -> None:
    """Deploy the applications, and let the sensor record what they do, as Dagster's daemon does."""
    for name in statuses():
        (specs / f"{name}.yaml").write_text(DEMO.replace("application: demo", f"application: {name}"))
    defs = build_definitions(specs, home)
    with dagster_instance(home.prepare()) as instance:
        for name, status in statuses().items():
            runtime.status = running(application=name)
            for job in ("compile", "deploy"):
                assert defs.resolve_job_def(f"{name}__{job}").execute_in_process(instance=instance).success
            made = time.time()
            # Dagster compares a check with a materialization by whole seconds of SQLite's clock
            until(lambda made=made: int(time.time()) > int(made), "the clock goes on")
            for seen in (runtime.status, status):
                runtime.status = seen
                record(instance, evaluated(defs, SENSOR, instance))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Dagster's web server over the three applications."""
    directory = tmp_path_factory.mktemp("dagster")
    home, specs = Home(directory / "home"), directory / "specs"
    specs.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAGSTER_HOME", raising=False)
        runtime = Runtime()
        runtime.replace(patch)
        deployed(specs, home, runtime)
    place = dagster_home(home)
    workspace = place / "workspace.yaml"
    module = "streams_orchestration.orchestration.definitions"
    workspace.write_text(f"load_from:\n  - python_module: {{module_name: {module}, location_name: {LOCATION}}}\n")
    own = {"DAGSTER_HOME": str(place), "STREAMS_HOME": str(home.root), "STREAMS_SPECS": str(specs)}
    port = free_port()
    command = [
        sys.executable,
        "-m",
        WEBSERVER,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workspace",
        str(workspace),
    ]
    with (place / "webserver.log").open("w") as log:
        server = subprocess.Popen(command, env=os.environ | own, stdout=log, stderr=log)
    try:
        until(lambda: answers(port), "the web server answers", SERVER_SECONDS)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(SERVER_SECONDS)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


COLOUR = """(name) => {
  const label = [...document.querySelectorAll('div')].find((each) => each.childElementCount === 0
    && each.textContent === name);
  for (let each = label; each; each = each.parentElement) {
    const [red, green, blue] = getComputedStyle(each).borderTopColor.match(/\\d+/g).map(Number);
    const strength = Math.max(red, green, blue) - Math.min(red, green, blue);
    if (parseFloat(getComputedStyle(each).borderTopWidth) > 0 && strength > 40)
      return red > green ? 'red' : 'green';
  }
  return 'grey';
}"""
"""The colour of the border of an asset in the graph: red for a failed check, green for a materialized one."""
FAILED = {"failing": {"failures_are_mended", "units_work"}}
"""The checks that fail, by application."""
NODES = {
    "healthy": {"deployment": "green", "Results": "green", "spec": "grey"},
    "failing": {"deployment": "red", "deployment_plan": "green"},
    "stopped": {"deployment": "green", "Results": "green"},
}


@pytest.mark.parametrize("name", statuses())
def test_the_graph_and_the_checks_follow_the_application(browser: Any, address: str, name: str):  # noqa: F811
    seen = Seen(browser, width=1600)
    seen.page.goto(f"{address}/locations/{LOCATION}/asset-groups/{name}")
    for node, colour in NODES[name].items():
        until(lambda node=node, colour=colour: seen.page.evaluate(COLOUR, node) == colour, f"{node} is {colour}", 60.0)
    seen.page.goto(f"{address}/assets/{name}/deployment?view=checks")
    seen.expect("text=failures_are_mended").not_to_have_count(0)
    failing = FAILED.get(name, set())
    for check in ("cuts_are_fresh", "failures_are_mended", "hosts_are_placed", "units_work"):
        row = seen.page.locator(f"xpath=//*[@title='{check}']/../..").first
        playwright.expect(row).to_contain_text(
            "Failed" if check in failing else "Succeeded", timeout=TIMEOUT_MILLISECONDS
        )
    seen.page.context.close()
