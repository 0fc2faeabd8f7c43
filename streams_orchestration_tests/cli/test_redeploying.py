"""`streams redeploy --dry-run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import update

from streams_orchestration.cli import main
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.programs.batches import StateFile, StoredState
from streams_orchestration.runtime.redeployment import deployed_plan
from streams_orchestration.runtime.redeployment.redeploying import RedeployRefusedError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.specs import KEYED
from streams_orchestration_tests.runtime.locked import deploy, redeploy
from streams_orchestration_tests.specs import cases

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    path = tmp_path / "app.yaml"
    path.write_text(KEYED)
    deploy(Home(tmp_path / "home"), deployable(compile_spec(path)))
    return path


def edit(spec: Path, *changes: tuple[str, str]) -> str:
    text = spec.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    spec.write_text(text)
    return str(spec)


def document(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_document_has_these_keys_and_no_others(spec: Path, capsys: Capture):
    assert main(["redeploy", edit(spec), "--dry-run", "--format", "json"]) == 0
    actual = document(capsys)
    assert list(actual) == ["application", "from", "to", "verdict", "units", "operators", "pauseSeconds"]
    assert actual["from"] == actual["to"]
    assert (actual["application"], actual["verdict"]) == ("app", "unchanged")
    assert actual["units"] == [{"unit": "region-0", "action": "run on"}]
    assert actual["operators"][0] == {
        "operator": "Source", "action": "kept", "rows": 0, "bytes": 0, "reason": "it stays in PE 0",
    }  # fmt: skip
    assert actual["pauseSeconds"] == {"predicted": None, "measured": None}


CHANGES: dict[str, tuple[list[tuple[str, str]], list[str], int, str]] = {
    "another width": ([("width: 2", "width: 3")], [], 0, "kept"),
    "a renamed operator": ([("name: New", "name: Fresh\n    uid: New"), ("[New]", "[Fresh]")], [], 0, "kept"),
    "another source that may be": (
        [("name: Source", "name: Other"), ("stream: Source", "stream: Other"), ("[Source]", "[Other]")],
        ["--drop-state", "Source"], 0, "lossy",
    ),
    "another key": ([("{key: k}", "{key: g}")], [], 1, "refused"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_verdict_and_status(spec: Path, capsys: Capture, case: str):
    changes, options, status, verdict = CHANGES[case]
    assert main(["redeploy", edit(spec, *changes), "--dry-run", "--format", "json", *options]) == status
    assert document(capsys)["verdict"] == verdict


def test_a_name_that_is_too_long_for_a_file_is_that_of_an_application(spec: Path, capsys: Capture):
    assert main(["redeploy", "x" * 5000, "--revert"]) == 1
    assert "no such application" in capsys.readouterr().err


OTHER_VERSION: dict[str, tuple[list[str], list[tuple[str, str]], int]] = {
    "explain": (["explain", "New"], [], 0),
    "graph": (["graph"], [], 0),
    "redeploy": (["redeploy", "--dry-run"], [], 1),
    "deploy what has changed": (["deploy"], [("key: k", "key: g")], 1),
}


@pytest.mark.parametrize("case", OTHER_VERSION)
def test_a_plan_that_another_version_has_stored_is_named(spec: Path, capsys: Capture, case: str):
    (command, *options), changes, status = OTHER_VERSION[case]
    with Catalog(Home(spec.parent / "home")).write() as connection:
        connection.execute(update(tables.application).values(compilation=b'{"of": "another version"}'))
    assert main([command, edit(spec, *changes), *options]) == status
    error = capsys.readouterr().err
    assert ("app was deployed by another version of the product" in error) == (status == 1)
    assert "validation error" not in error
    assert api.read_deployed_options(Catalog(Home(spec.parent / "home")), "app") is None, (
        "--fresh needs none of what is deployed"
    )


def test_a_width_for_this_redeploy_is_the_strongest(spec: Path, capsys: Capture):
    assert main(["redeploy", str(spec), "--dry-run", "--format", "json", "--width", "New=3"]) == 0
    assert {each["operator"] for each in document(capsys)["operators"]} >= {"New[0]", "New[1]", "New[2]"}
    assert main(["redeploy", str(spec), "--dry-run", "--width", "Old=3"]) == 1
    assert "SO0207" in capsys.readouterr().err


def test_options_are_kept_as_deployed_unless_the_spec_has_outgrown_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    home, path = Home(tmp_path / "home"), tmp_path / "app.yaml"
    monkeypatch.setenv("STREAMS_HOME", str(home.root))
    path.write_text(KEYED)
    deploy(home, deployable(compile_spec(path, Options(widths=(("New", 3),)))))
    assert main(["redeploy", str(path), "--dry-run", "--format", "json"]) == 0
    assert document(capsys)["verdict"] == "unchanged"
    renamed = edit(path, ("name: New", "name: Fresh"), ("[New]", "[Fresh]"))
    assert main(["redeploy", renamed, "--dry-run"]) == 1
    assert "app: the width 3 of New is ignored" in capsys.readouterr().err


def test_a_width_follows_its_region_through_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    home, path = Home(tmp_path / "home"), tmp_path / "app.yaml"
    monkeypatch.setenv("STREAMS_HOME", str(home.root))
    path.write_text(KEYED)
    edit(path, ("name: New", "name: New\n    uid: kept"))
    deploy(home, deployable(compile_spec(path, Options(widths=(("New", 3),)))))
    renamed = edit(path, ("name: New\n", "name: Fresh\n"), ("[New]", "[Fresh]"))
    assert main(["redeploy", renamed, "--dry-run", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert {"Fresh[0]", "Fresh[1]", "Fresh[2]"} <= {each["operator"] for each in json.loads(out)["operators"]}
    assert "left out" not in err


def test_a_submission_value_changes_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    home, path = Home(tmp_path / "home"), tmp_path / "app.yaml"
    monkeypatch.setenv("STREAMS_HOME", str(home.root))
    path.write_text(KEYED.replace("schemas:", "submission: {n: {type: int32, default: 2}}\nschemas:"))
    edit(path, ("width: 2", 'width: "${n}"'))
    deploy(home, deployable(compile_spec(path, Options(submission={"n": "3"}))))
    assert main(["redeploy", str(path), "--dry-run", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["verdict"] == "unchanged", "the value stays that was given"
    assert "app: using the options of its deployment: --set=n=3" in err
    assert main(["redeploy", str(path), "--dry-run", "--format", "json", "--set", "n=4"]) == 0
    out, err = capsys.readouterr()
    assert "New[3]" in {each["operator"] for each in json.loads(out)["operators"]}
    assert "using the options" not in err
    assert main(["redeploy", str(path), "--dry-run", "--set", "m=4"]) == 1
    assert "there is no submission-time value m" in capsys.readouterr().err


def test_the_preview_shows_state_that_would_be_lost_and_the_remedy(spec: Path, capsys: Capture):
    path = edit(spec, ("name: Source", "name: Other"), ("stream: Source", "stream: Other"), ("[Source]", "[Other]"))
    assert main(["redeploy", path, "--dry-run"]) == 1
    out = capsys.readouterr().out
    for words in ("restart", "Other", "added", "dropped", "State is lost.", "--drop-state"):
        assert words in out


CONTRACT = cases("redeploy_contract.yaml")
CONTRACT_HEAD = """
specVersion: 1
application: app
schemas: {Row: "k string, g int, t timestamp"}
graph:
  - name: S
    operator: Beacon
    outputs: [{stream: S, schema: Row}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
"""
CONTRACT_TAIL = """
  - {name: Out, operator: FileSink, inputs: [X], parameters: {file: out}}
  # more
"""
OPERATORS = "streams_orchestration_tests.runtime.redeployment.keyed_operators"
BY_KEY = {"parallel": {"width": 2, "partitionBy": [{"port": "in0", "attributes": ["k"]}]}}


def contract_spec(case: dict[str, Any]) -> str:
    """Return the spec of a case as it is deployed."""
    plain = {"inputs": ["S"], "outputs": [{"stream": "X", "schema": "Row"}], "annotations": BY_KEY, "config": {}}
    invocation = {"name": "X"} | plain | case["invocation"]
    line = yaml.safe_dump(invocation, default_flow_style=True, sort_keys=False, width=1000).strip()
    return CONTRACT_HEAD + f"  - {line}".replace("keyed_operators", OPERATORS) + CONTRACT_TAIL


@pytest.mark.parametrize("case", CONTRACT)
def test_the_document_of_every_case(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    wanted = CONTRACT[case]
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    spec = tmp_path / "app.yaml"
    spec.write_text(contract_spec(wanted))
    edit(spec, *wanted.get("also", {}).items())
    deploy(Home(tmp_path / "home"), deployable(compile_spec(spec)))
    options = [option for name in wanted.get("drop", ()) for option in ("--drop-state", name)]
    path = edit(spec, *wanted["edits"].items())
    status = main(["redeploy", path, "--dry-run", "--format", "json", *options])
    actual = document(capsys)
    assert actual["verdict"] == wanted["verdict"], actual
    assert status == (0 if wanted["verdict"] == "kept" or wanted.get("allowed") else 1)
    assert actual["from"] != actual["to"]
    expected = {each["operator"]: wanted["action"] for each in actual["operators"] if each["operator"][0] == "X"
                } if "action" in wanted else wanted.get("actions", {})  # fmt: skip
    actions = {each["operator"]: each["action"] for each in actual["operators"]}
    others = {name: action for name, action in actions.items() if name not in expected}
    assert actions == expected | others
    assert set(others.values()) <= {"kept", "moved"}
    if "reason" in wanted:
        old = [name for name, action in expected.items() if action != "added"]
        reasons = {each["operator"]: each["reason"] for each in actual["operators"] if each["operator"] in old}
        assert reasons
        assert {name: reason for name, reason in reasons.items() if wanted["reason"] not in reason} == {}
    lost = [each["reason"] for each in actual["operators"] if each["action"] in ("refused", "dropped")]
    assert wanted.get("allowed") or all("--drop-state" in each for each in lost if "starts without state" not in each)


def test_a_complete_application_has_nothing_that_could_be_redeployed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    wanted = next(each for each in CONTRACT.values() if each["verdict"] == "kept")
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    spec = tmp_path / "app.yaml"
    spec.write_text(contract_spec(wanted))
    edit(spec, *wanted.get("also", {}).items())
    deploy(Home(tmp_path / "home"), deployable(compile_spec(spec)))
    with Catalog(Home(tmp_path / "home")).write() as connection:
        connection.execute(update(tables.application).values(state="COMPLETED"))
    path = edit(spec, *wanted["edits"].items())
    assert main(["redeploy", path, "--dry-run"]) == 1
    assert "app is complete, so there is nothing to redeploy. `streams run" in capsys.readouterr().err


@pytest.mark.parametrize("case", [name for name, each in CONTRACT.items() if each["verdict"] == "refused"])
def test_a_refused_redeploy_changes_nothing(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    spec, wanted = tmp_path / "app.yaml", CONTRACT[case]
    spec.write_text(contract_spec(wanted))
    edit(spec, *wanted.get("also", {}).items())
    home = Home(tmp_path / "home")
    deploy(home, deployable(compile_spec(spec)))
    before = read_status(Catalog(home), "app")
    edit(spec, *wanted["edits"].items())
    with pytest.raises(RedeployRefusedError, match="is unchanged") as caught:
        redeploy(home, deployable(compile_spec(spec)))
    refusals = [each.text for each in caught.value.redeployment.operators if each.remedy]
    assert refusals
    assert [text for text in refusals if text not in str(caught.value)] == []
    assert read_status(Catalog(home), "app") == before


WRONG = {
    "a name that is not there": (
        ["--dry-run", "--drop-state", "Nwe"],
        1,
        "there is no operator Nwe; the nearest is New",
    ),
    "a name that loses nothing": (["--dry-run", "--drop-state", "New"], 1, "no state of New would be lost"),
    "everything dropped, and something named": (
        ["--fresh", "--drop-state", "New"],
        2,
        "replaces the deployed one without --fresh",
    ),
    "everything dropped": (["--dry-run", "--fresh"], 2, "cannot be combined"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_of_a_redeploy_are_refused(spec: Path, capsys: Capture, case: str):
    options, status, words = WRONG[case]
    assert main(["redeploy", str(spec), *options]) == status
    assert words in capsys.readouterr().err


def test_a_redeploy_of_an_application_that_is_not_deployed_cannot_be_previewed(spec: Path, capsys: Capture):
    assert main(["redeploy", edit(spec, ("application: app", "application: other")), "--dry-run"]) == 1
    assert "other: no such application" in capsys.readouterr().err


def test_a_state_that_is_collected_meanwhile_is_looked_up_again(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    newest = [0]

    def chains(*_: object) -> dict[str, StoredState]:
        newest[0] += 1
        return {"New[0]": StoredState("New[0]", (StateFile(f"state {newest[0]}", 1, 0, newest[0]),))}

    def read(_store: object, stored: StoredState) -> Any:
        if stored.files[0].batch < 6:
            raise OperatorError(stored.operator, "it is gone")
        seen = KeyedState("k string")
        seen.add_many({"k": ["a", "b"]})
        return {"seen": seen, "position": 3}

    monkeypatch.setattr(deployed_plan, "state_chains", chains)
    monkeypatch.setattr(deployed_plan, "read_state", read)
    assert main(["redeploy", str(spec), "--dry-run", "--format", "json"]) == 0
    assert {each["operator"]: each["rows"] for each in document(capsys)["operators"]}["New[0]"] == 2
    assert newest == [6]


def test_a_state_whose_file_is_lost_is_an_error(spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    lost = StoredState("New[0]", (StateFile("nowhere", 1, 0, 1),))
    monkeypatch.setattr(deployed_plan, "state_chains", lambda *_: {"New[0]": lost})
    assert main(["redeploy", str(spec), "--dry-run"]) == 1
    assert f"New[0]: its state {Home.default().root}/nowhere cannot be read" in capsys.readouterr().err


def test_the_preview_says_how_long_what_changes_will_stand_still(
    spec: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
):
    deploy(Home.default(), deployable(compile_spec(spec)))
    edit(spec, ("width: 2", "width: 3"))
    command = ["redeploy", str(spec), "--dry-run"]
    assert main(command) == 0
    assert "units pause" not in capsys.readouterr().out, "nothing was measured"
    monkeypatch.setattr(deployed_plan, "read_prediction", lambda *_: 1.26)
    assert main(command) == 0
    assert "All state is kept. Changed units pause for about 1.3 s." in capsys.readouterr().out
    assert main([*command, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["pauseSeconds"] == {"predicted": 1.26, "measured": None}
