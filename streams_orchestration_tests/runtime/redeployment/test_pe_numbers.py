"""After a redeploy every command and page speaks of PEs by the numbers that they have while they run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli.entry import main
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import Compilation, PlannedCompilation, Progress
from streams_orchestration.compiler.compiling import compile_application, compile_spec
from streams_orchestration.compiler.explain import explain
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.fusion.stage import FUSION_STAGE
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.numbered import as_deployed, stages_as_deployed
from streams_orchestration.orchestration.application import known_lineage
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.stage_assets import ApplicationSource
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.trials import read_trial
from streams_orchestration.runtime.deployment.requests import Redeploy
from streams_orchestration.runtime.observing.compilations import read_compilation
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.redeployment import redeploying
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.trial import close_passed_trial
from streams_orchestration_tests.compiler.assignments import assignment
from streams_orchestration_tests.compiler.redeployment.chains import HEAD, chain
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.locked import deploy, deploy_plan
from streams_orchestration_tests.specs import read

BEFORE, AFTER = HEAD + chain("A") + chain("B"), HEAD + chain("C") + chain("B") + chain("D")
"""Compiled, the PEs of AFTER are numbered in the order of its text."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(redeploying, "launch_hosts", lambda *_, **__: ())
    return Home(tmp_path / "home")


@pytest.fixture
def spec(tmp_path: Path, home: Home) -> Path:
    """Return the spec of an application that was redeployed with another one in front."""
    path = tmp_path / "app.yaml"
    path.write_text(BEFORE)
    deploy(home, deployable(compile_spec(path)))
    path.write_text(HEAD + chain("C") + chain("A") + chain("B") + chain("D"))
    redeployed(home, compile_spec(path))
    return path


def redeployed(home: Home, wanted: PlannedCompilation) -> None:
    """Redeploy without hosts, and have the plan proved."""
    locked.begin_redeploy(home, deployable(wanted))
    with create_catalog(home).write() as connection:
        trial = read_trial(connection, "app")
        assert trial is not None
        close_passed_trial(connection, trial)


def running_pes(home: Home) -> dict[str, int]:
    """Operator -> the PE that runs it."""
    compilation = read_compilation(Catalog(home), "app")
    numbers = {pe.id for pe in read_status(Catalog(home), "app").pes}
    assert numbers == {pe.id for pe in compilation.fusion.pes}
    return pes_of(compilation)


def pes_of(compilation: Compilation) -> dict[str, int]:
    names = [each.name for each in compilation.physical.operators]
    return {names[operator]: pe.id for pe in compilation.fusion.pes for operator in pe.operators}


def document(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    assert main([*command, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_commands_and_pages_speak_of_the_pes_that_run(home: Home, spec: Path, capsys: pytest.CaptureFixture[str]):
    running = running_pes(home)
    assert running != pes_of(compile_spec(spec)), "else nothing is tested"
    for operator, pe in running.items():
        assert f"PE {pe}" in json.dumps(document(capsys, "explain", str(spec), operator))
        assert operator in json.dumps(document(capsys, "explain", str(spec), f"PE {pe}"))
        comes_from = document(capsys, "lineage", str(spec), f"pes/pe_{pe}")["nodes"]
        facts = next(node for node in comes_from if node["name"] == f"pes/pe_{pe}")
        assert operator in facts["operators"]
    source = ApplicationSource("app", spec)
    graph = known_lineage(source, ArtifactStore(home))
    shown = {op: node for node, facts in graph.nodes(data=True) if facts["kind"] == "pe" for op in facts["operators"]}
    assert shown == {operator: f"pes/pe_{pe}" for operator, pe in running.items()}


def test_a_preview_names_units_and_pes_by_their_running_numbers(
    home: Home, spec: Path, capsys: pytest.CaptureFixture[str]
):
    spec.write_text(
        spec.read_text().replace("inputs: [ASource]", "inputs: [ASource]\n    annotations: {parallel: {width: 1}}")
    )
    redeployed(home, compile_spec(spec))
    actual = document(capsys, "diff", str(spec), "--to", "ANew=2")
    units = {unit.name for unit in read_status(Catalog(home), "app").units}
    assert {each["unit"] for each in actual["redeploy"]["units"]} <= units
    numbers = {pe.id for pe in read_status(Catalog(home), "app").pes}
    assert {*actual["pes"]["kept"], *(each["pe"] for each in actual["pes"]["restart"])} == numbers
    assert actual["redeploy"]["from"] == fingerprint(compile_spec(spec))


def test_every_pe_is_explained_by_its_number_though_some_are_missing():
    before, after = compile_application(read(BEFORE)), compile_application(read(AFTER))
    running = as_deployed(after, before)
    numbers = sorted(pe.id for pe in running.fusion.pes)
    assert numbers != list(range(len(numbers)))
    names = [each.name for each in running.physical.operators]
    for pe in running.fusion.pes:
        text = json.dumps(explain(running, f"PE {pe.id}").document())
        assert all(names[operator] in text for operator in pe.operators)
        assert f"PE {pe.id}" in json.dumps(explain(running, names[pe.operators[0]]).document())
    fused = Progress(after.options).with_result(after.logical).with_result(after.physical).with_result(after.fusion)
    table = FUSION_STAGE.summary(stages_as_deployed(fused, before))
    assert FUSION_STAGE.summary(running.progress) == table


def test_a_decision_is_known_again_under_other_numbers():
    before, plain = compile_application(read(BEFORE)), compile_application(read(AFTER))
    parted = compile_application(read(AFTER), Options(decoupling=assignment(plain, {"BOut": 1})))
    running = as_deployed(parted, before)
    marks = {fusion_fingerprint(each.logical, each.physical, each.fusion) for each in (plain, parted, running)}
    assert len(marks) == 1
    assert [pe.original for pe in running.fusion.pes] != [pe.id for pe in running.fusion.pes]


def test_a_uid_that_is_given_after_a_redeploy_is_kept_with_what_is_deployed(home: Home, spec: Path):
    before = running_pes(home)
    spec.write_text(spec.read_text().replace("name: ANew\n", "name: ANew\n    uid: first\n"))
    deploy_plan(home, deployable(compile_spec(spec)), Redeploy())
    deployed = read_compilation(Catalog(home), "app")
    assert "first" in [each.identity for each in deployed.logical.operators]
    assert running_pes(home) == before
