"""The tutorial's chapter on event time: its commands are run, and what it shows is what comes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration.cli import main
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.runtime import api
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.stepped_clock import SteppedClock

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
CHAPTER = PAGE.partition("## 8. Event time\n")[2].partition("\n## ")[0]
SPEC, BEGIN, STANDS, WEST, RESULT, EAST, LATE, BEHIND = re.findall(
    r"^```\w*\n(.*?)^```", CHAPTER, re.MULTILINE | re.DOTALL
)


def shell(directory: Path, commands: str) -> str:
    """Run commands of the page, but for those of the product."""
    own = "\n".join(line for line in commands.splitlines() if not line.startswith("streams "))
    return subprocess.run(["sh", "-ec", own], cwd=directory, check=True, capture_output=True, text=True).stdout


def printed(directory: Path, block: str) -> None:
    """Run the command that a block begins with, and compare its output with the block."""
    command, _, wanted = block.partition("\n")
    assert shell(directory, command.removeprefix("$ ")) == wanted


def status_of(local: LocalApplication, names: Iterator[str]) -> list[str]:
    found = {each.operator: each for each in api.read_metrics(local.catalog, local.name).event_time}
    lines = ["operator event time what holds its watermark"]
    return [*lines, *(f"{name} {found[name].reached} {found[name].why}" for name in names)]


def test_the_chapter_on_event_time(
    tmp_path: Path, stepped: SteppedClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "specs" / "minutes.yaml"
    spec.parent.mkdir()
    spec.write_text(SPEC, encoding="utf-8")
    assert main(["explain", "specs/minutes.yaml", "Minutes"]) == 0
    assert "event time" in capsys.readouterr().out
    shell(tmp_path, BEGIN)
    local = LocalApplication(Home(tmp_path / ".streams"), compile_spec(spec), 100)

    def work() -> None:
        stepped.now += 2  # the time between two scans of a directory
        for turn in range(8):
            if turn % 4 == 3:
                local.trigger()
            for program in local.programs:
                local.step(program)
            local.publish()

    def stands(block: str) -> None:
        shown = re.findall(r"^(East|West|Clicks) ", block, re.MULTILINE)
        assert " ".join(block.split()) == " ".join(status_of(local, iter(shown)))

    work()
    stands(STANDS)
    assert local.published("Result") == []
    shell(tmp_path, WEST)
    work()
    printed(tmp_path, RESULT)
    shell(tmp_path, EAST)
    work()
    printed(tmp_path, LATE)
    printed(tmp_path, RESULT)
    stands(BEHIND)
    (minutes,) = (each for each in api.read_metrics(local.catalog, local.name).operators if each.name == "Minutes")
    assert [each.value for each in minutes.custom if each.name == "late_dropped"] == [1]
