from __future__ import annotations

import os
import signal
import threading
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from streams_orchestration.cli import following, foreground
from streams_orchestration.cli.display import Display
from streams_orchestration.cli.following import Foreground, ResetsExhaustedError
from streams_orchestration.cli.foreground import run_in_foreground
from streams_orchestration.cli.interrupts import BackgroundCall, Interrupts
from streams_orchestration.cli.start import Start
from streams_orchestration.cli.terminal import SafeConsole
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.deployment.requests import ContinueFromState
from streams_orchestration.runtime.errors.errors import HostLaunchError
from streams_orchestration.runtime.rollout.deploying import Deployment
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration_tests.cli.fake_foreground import FakeForeground, FakeStart
from streams_orchestration_tests.cli.made_up import pe, status, unit
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.locked import deploy

TIMEOUT_SECONDS = 60.0
NOT_UP = HostLaunchError("host 0 did not come up")
COPY = """
specVersion: 1
application: copy
schemas: {Number: "x bigint"}
graph:
  - {name: Numbers, operator: Beacon, outputs: [{stream: Numbers, schema: Number}], parameters: {iterations: 1}}
  - {name: Kept, operator: FileSink, inputs: [Numbers], parameters: {file: kept, format: csv}}
"""


@pytest.fixture
def display() -> Display:
    return Display(SafeConsole(file=StringIO()))


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreground, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(following, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(api, "SENSOR_GRACE_SECONDS", 0.0)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").prepare()


@pytest.fixture
def copy(tmp_path: Path) -> PlannedCompilation:
    spec = tmp_path / "copy.yaml"
    spec.write_text(COPY)
    return compile_spec(spec)


def test_a_run_in_the_foreground_goes_on_to_the_end(display: Display) -> None:
    application = FakeForeground(polls=1)
    with Interrupts(lambda: None) as interrupts:
        assert run_in_foreground(FakeStart(application), application, display, interrupts).state == "COMPLETED"
    assert application.calls == ["deploy"]


def test_the_end_is_seen_at_once(display: Display, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 3600.0)
    application = FakeForeground(polls=2)
    with Interrupts(lambda: None) as interrupts:
        assert run_in_foreground(FakeStart(application), application, display, interrupts).state == "COMPLETED"


@pytest.mark.parametrize("values", [{"state": "COMPLETED"}, {"wanted": "STOPPED"}], ids=str)
def test_the_end_of_an_application_is_noticed_when_the_catalog_changes(
    copy: PlannedCompilation, home: Home, values: dict[str, str]
):
    deploy(home, deployable(copy))
    application = Foreground(Catalog(home), "copy")
    assert not application.ended()
    with Catalog(home).write() as connection:
        connection.execute(update(tables.application).values(**values))
    with Interrupts(lambda: None) as interrupts:
        assert not interrupts.pause(TIMEOUT_SECONDS, application.ended)
    assert application.advance_and_read().state in ("COMPLETED", "STOPPED")


def start_of(copy: PlannedCompilation, home: Home) -> Start:
    lock = lock_start(home, "copy", "streams run")
    return Start(Catalog(home), lock, deployable(copy), ContinueFromState(), Path("copy.yaml"))


@pytest.mark.usefixtures("no_hosts")
def test_dagster_is_loaded_when_the_engines_are_up_before_the_pes_run(
    copy: PlannedCompilation, home: Home, monkeypatch: pytest.MonkeyPatch
):
    loaded, order = threading.Event(), []
    replace_function(monkeypatch, api, "await_engines", lambda *_: order.append(loaded.is_set()))
    replace_function(monkeypatch, Start, "record_deployment", lambda *_: loaded.set())
    replace_function(monkeypatch, api, "await_running_pes", lambda *_: order.append(loaded.wait(TIMEOUT_SECONDS)))
    start = start_of(copy, home)
    start.launch(pytest.fail)
    start.await_running()
    assert order == [False, True], "before the engines are up, and before the PEs run"
    assert start.await_recording() is None


@pytest.mark.usefixtures("no_hosts")
def test_the_catalog_is_not_read_before_the_deployment_has_created_it(
    copy: PlannedCompilation, home: Home, display: Display, monkeypatch: pytest.MonkeyPatch
):
    checked, deploy_plan = threading.Event(), api.deploy_plan

    class Waiting(foreground.BackgroundCall[None]):
        waits = 0

        def wait(self, seconds: float) -> bool:
            self.waits += 1
            if self.waits == 2:  # so the command has polled the start once
                checked.set()
            return super().wait(seconds)

    def late(*arguments: Any, **named: Any) -> Deployment:
        assert checked.wait(TIMEOUT_SECONDS)
        assert not home.catalog.exists(), "the poll has created a file"
        return deploy_plan(*arguments, **named)

    def complete(*_: Any) -> None:
        with Catalog(home).write() as connection:
            connection.execute(update(tables.application).values(state="COMPLETED"))

    monkeypatch.setattr(foreground, "BackgroundCall", Waiting)
    replace_function(monkeypatch, api, "deploy_plan", late)
    replace_function(monkeypatch, api, "await_engines", lambda *_: None)
    replace_function(monkeypatch, api, "await_running_pes", complete)
    replace_function(monkeypatch, Start, "record_deployment", lambda *_: None)
    start = start_of(copy, home)
    with Interrupts(lambda: None) as interrupts:
        application = Foreground(start.catalog, "copy")
        assert run_in_foreground(start, application, display, interrupts).state == "COMPLETED"


def test_an_interrupt_stops_it_and_says_so_once() -> None:
    output = StringIO()
    display = Display(SafeConsole(file=output))
    application = FakeForeground(polls=1000)
    with Interrupts(lambda: display.say("Stopping flights")) as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert run_in_foreground(FakeStart(application), application, display, interrupts).state == "STOPPED"
    assert application.calls == ["deploy", "cancel"]
    assert output.getvalue().count("Stopping") == 1


def test_an_interrupt_does_not_wait_for_a_reset_that_hangs(display: Display, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, released = threading.Event(), threading.Event()

    def hang() -> None:
        released.wait(TIMEOUT_SECONDS)

    class Hanging(FakeForeground):
        def begin_reset(self, failure: UnitFailure) -> BackgroundCall[object]:
            super().begin_reset(failure).result()
            begun.set()
            return BackgroundCall(hang)

    application = Hanging(polls=10**9)
    application.now = status(pes=(pe(0, state="FAILED", error="boom"),))

    def interrupt() -> None:
        assert begun.wait(TIMEOUT_SECONDS)
        os.kill(os.getpid(), signal.SIGINT)

    with Interrupts(lambda: None) as interrupts:
        threading.Thread(target=interrupt, daemon=True).start()
        assert run_in_foreground(FakeStart(application), application, display, interrupts).state == "STOPPED"
    assert application.calls == ["deploy", "reset region-0", "cancel"]
    released.set()


def test_hosts_are_judged_by_the_clock_of_the_catalog(display: Display, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_function(monkeypatch, api, "now", lambda: time.time() - 3600.0)
    application = FakeForeground(polls=5)
    with Interrupts(lambda: None) as interrupts:
        assert run_in_foreground(FakeStart(application), application, display, interrupts).state == "COMPLETED"
    assert application.calls == ["deploy"]


def test_an_application_is_stopped_when_no_reset_is_left(display: Display) -> None:
    application = FakeForeground(polls=1000)
    application.now = status(pes=(pe(0, state="FAILED", error="boom"),), units=(unit(attempts=5),))
    with Interrupts(lambda: None) as interrupts, pytest.raises(ResetsExhaustedError):
        run_in_foreground(FakeStart(application), application, display, interrupts)
    assert application.calls == ["deploy", "cancel"]


def test_a_deployment_that_fails_is_stopped_and_is_the_error(display: Display) -> None:
    application = FakeForeground(polls=1000)
    with Interrupts(lambda: None) as interrupts, pytest.raises(HostLaunchError, match="did not come up"):
        run_in_foreground(FakeStart(application, NOT_UP), application, display, interrupts)
    assert application.calls == ["cancel"]


def test_a_pe_that_fails_at_once_is_answered_like_one_that_fails_later(display: Display) -> None:
    application = FakeForeground(polls=5)
    application.now = status(pes=(pe(0, state="FAILED", error="boom"),))
    with Interrupts(lambda: None) as interrupts:
        assert run_in_foreground(FakeStart(application, NOT_UP), application, display, interrupts).state == "COMPLETED"
    assert application.calls == ["reset region-0"]
