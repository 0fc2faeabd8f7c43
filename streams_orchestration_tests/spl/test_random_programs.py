"""Random applications give the same files however their batches are cut and whenever their processes start again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.spl_options import SplOptions, spl_options
from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.stepping import SteppedApplication
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import InstanceCache
from streams_orchestration_tests.spl.program_generation import program

DIVISIONS = {"one PE": Options(fusion="automatic", pes=1), "a PE for each operator": Options(fusion="legacy")}
MOST_TURNS = 4000


def files_of(application: SteppedApplication) -> dict[str, str]:
    """Return what each sink has published."""
    found: dict[str, str] = {}
    for path in sorted(application.home.results(application.name).glob("*/part-*")):
        found[path.parent.name] = found.get(path.parent.name, "") + path.read_text(encoding="utf-8")
    return found


def run_at_once(compilation: PlannedCompilation, home: Path) -> dict[str, str]:
    """Run an application with one batch for all tuples, and return its files."""
    application = SteppedApplication(Home(home), compilation, 1000)
    application.run()
    return files_of(application)


def run_in_pieces(compilation: PlannedCompilation, home: Path, seed: int) -> dict[str, str]:
    """Run an application in small batches, in any order of its PEs, whose states are read again now and then."""
    chance = random.Random(seed)
    application = SteppedApplication(Home(home), compilation)
    for _ in range(MOST_TURNS):
        stepped = False
        for each in chance.sample(application.programs, len(application.programs)):
            application.source_limit = chance.choice([1, 1, 2, 3, 5, 8, 20])
            if chance.random() < 0.4:
                stages.INSTANCES = InstanceCache()  # another process, which has nothing in memory
            stepped |= application.step(each)
        if not stepped:
            application.publish()
            if application.advance_to_end():
                return files_of(application)
    message = "the application does not reach its end"
    raise AssertionError(message)


def check_divisions(seed: int, division: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "INSTANCES", InstanceCache())
    spec = directory / "Main.spl"
    spec.write_text(program(seed, pes=division != "one PE"), encoding="utf-8")
    spl_options.set(SplOptions())
    compilation = compile_spec(spec, DIVISIONS[division])
    whole = run_at_once(compilation, directory / "whole")
    assert "S0" in whole
    pieces = run_in_pieces(compilation, directory / "pieces", seed)
    assert {name: text.splitlines() for name, text in pieces.items()} == {
        name: text.splitlines() for name, text in whole.items()
    }


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("seed", range(2))
def test_a_random_application_does_not_depend_on_batches_or_restarts(
    seed: int, division: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    check_divisions(seed, division, tmp_path, monkeypatch)


@pytest.mark.deep
@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("seed", range(2, 62))
def test_many_random_applications_do_not_depend_on_batches_or_restarts(
    seed: int, division: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    check_divisions(seed, division, tmp_path, monkeypatch)
