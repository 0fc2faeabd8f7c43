"""`streams console`: what its arguments mean; what it serves is tested with the console."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli import consoles
from streams_orchestration.cli.entry import main
from streams_orchestration.compiler.options import Options
from streams_orchestration_tests.console.plans.specs import write_spec


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the calls that would serve a console."""
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write_spec(tmp_path)
    write_spec(tmp_path, "", "app.py")
    calls: list[dict[str, Any]] = []

    def serve(_home: object, _access: object, application: str | None, _ready: object, specs: object, options: object):
        calls.append({"application": application, "specs": specs, "options": options})
        return 0

    monkeypatch.setattr(consoles, "serve", serve)
    return calls


@pytest.mark.parametrize(
    ("arguments", "specs", "options"),
    [
        ([], (), None),
        (["planned.yaml"], (Path("planned.yaml"),), None),
        (["planned.yaml", "app.py:made", "planned.yaml"], (Path("planned.yaml"), Path("app.py:made")), None),
        (["planned.yaml", "--set", "where=x"], (Path("planned.yaml"),), Options(submission={"where": "x"})),
    ],
)
def test_specs_and_options_are_handed_on(
    served: list[dict[str, Any]], arguments: list[str], specs: tuple[Path, ...], options: Options | None
):
    assert main(["console", *arguments]) == 0
    assert served == [{"application": None, "specs": specs, "options": options}]


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (["missing.yaml"], 2, "'missing.yaml' does not exist"),
        (["missing"], 1, "missing: no such application"),
        (["one", "two"], 2, "the console shows one application or all of them, not one, two"),
        (["planned.yaml", "app.py", "--fusion", "legacy"], 2, "compiler options apply to a single spec"),
        (["--fusion", "legacy"], 2, "compiler options apply to a single spec"),
    ],
)
def test_arguments_that_name_nothing_to_show_are_refused(
    served: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, text: str
):
    assert main(["console", *arguments]) == status
    assert text in capsys.readouterr().err
    assert served == []
