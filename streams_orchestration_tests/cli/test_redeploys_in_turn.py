"""A redeploy waits for another one, which may change the options that are deployed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from streams_orchestration.cli import main
from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock, lock_start
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.stored_compilation import stored
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.specs import KEYED
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.locked import deploy


@pytest.mark.parametrize("option", [[], ["--fresh"]])
def test_a_redeploy_keeps_the_options_of_a_redeploy_for_which_it_has_waited(
    option: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    spec, brought = tmp_path / "app.yaml", list[Any]()
    spec.write_text(KEYED)
    deploy(Home(tmp_path / "home"), deployable(compile_spec(spec)))

    def lock(home: Home, application: str, command: str, **_: Any) -> StartLock:
        wider = compile_spec(spec, Options(widths=(("New", 3),)))
        with Catalog(home).write() as connection:
            connection.execute(update(tables.application).values(compilation=stored(wider)))
        return lock_start(home, application, command)

    def deploy_plan(_catalog: Catalog, _lock: StartLock, wanted: Deployable, *_: Any, **_named: Any) -> None:
        brought.append(wanted.compilation.options.widths)
        message = "that is all"
        raise StreamsRuntimeError(message)

    for name, function in (("lock_start", lock), ("deploy_plan", deploy_plan), ("require_java", lambda: None)):
        replace_function(monkeypatch, api, name, function)
    assert main(["redeploy", str(spec), *option]) == 1
    assert brought == [(("New", 3),)]
