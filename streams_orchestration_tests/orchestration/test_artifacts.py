from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from streams_orchestration.compiler.stage import COPIES, LOGICAL
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.orchestration.application import build_application_definitions
from streams_orchestration.orchestration.artifacts import ArtifactStore, StageMissingError, StagesOutOfStepError
from streams_orchestration.runtime.errors.errors import StateDirectoryError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.orchestration.conftest import DEMO


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("compiled")
    (root / "demo.yaml").write_text(DEMO)
    defs = build_application_definitions(root / "demo.yaml", Home(root / "home"))
    assert defs.resolve_job_def("demo__compile").execute_in_process().success
    return root / "home"


@pytest.fixture
def store(compiled: Path, home: Home) -> ArtifactStore:
    shutil.copytree(compiled, home.root)
    return ArtifactStore(home)


@pytest.mark.slow
@pytest.mark.parametrize("stage", BY_NAME)
def test_a_document_is_read_as_written(store: ArtifactStore, stage: str):
    document = store.read("demo", stage)
    before = store.path("demo", stage).read_bytes()
    assert json.loads(before)["dataVersion"] == document.data_version
    store.write(document)
    assert store.path("demo", stage).read_bytes() == before
    assert set(document.inputs) == set(BY_NAME[stage].inputs or ("spec",))


@pytest.mark.parametrize(("stage", "place"), [(LOGICAL, ("options", "fusion")), (COPIES, ("order",))])
def test_a_result_of_another_version_names_its_file(store: ArtifactStore, stage: str, place: tuple[str, ...]):
    path = store.path("demo", stage)
    document = json.loads(path.read_bytes())
    part = document["result"]
    for each in place[:-1]:
        part = part[each]
    assert place[-1] in part
    part[place[-1]] = "gone"
    path.write_text(json.dumps(document))
    with pytest.raises(
        StageMissingError, match=rf"(?s){path.name}: cannot be read as a compiled stage: .*demo__compile"
    ):
        store.progress("demo", (LOGICAL, COPIES))
    if stage == LOGICAL:
        with pytest.raises(StageMissingError):
            store.options("demo")


@pytest.mark.slow
def test_the_version_goes_by_the_result_alone(store: ArtifactStore):
    document = store.read("demo", COPIES)
    assert replace(document, inputs={}, spec="elsewhere").data_version == document.data_version
    assert replace(document, result={}).data_version != document.data_version


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"spec": 1}', b"\xff"])
def test_a_damaged_document_names_its_file(store: ArtifactStore, content: bytes):
    path = store.path("demo", COPIES)
    path.write_bytes(content)
    with pytest.raises(StageMissingError, match=r"copy_plan\.json.*demo__compile"):
        store.compilation("demo")


def test_the_artifacts_of_an_application_that_was_never_compiled_are_missing(store: ArtifactStore):
    with pytest.raises(StageMissingError, match="other: stage logical_graph is not compiled yet"):
        store.compilation("other")


def test_a_stage_of_another_compilation(store: ArtifactStore):
    store.write(replace(store.read("demo", LOGICAL), section={}))
    with pytest.raises(StagesOutOfStepError, match="fusion_plan is older than logical_graph"):
        store.compilation("demo")


def test_errors_and_violations_are_not_deployed(store: ArtifactStore):
    document = store.read("demo", COPIES)
    store.write(replace(document, violations=("a is copied",)))
    with pytest.raises(StagesOutOfStepError, match="copy_plan: a is copied"):
        store.compilation("demo")
    store.write(replace(document, diagnostics=(Diagnostic("SO0001", "error", "it is wrong"),)))
    with pytest.raises(ApplicationError, match="it is wrong"):
        store.compilation("demo")


def test_an_interrupted_write_leaves_the_former_document(store: ArtifactStore, monkeypatch: pytest.MonkeyPatch):
    path = store.path("demo", COPIES)
    before = path.read_bytes()

    def broken(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(KeyboardInterrupt):
        store.write(replace(store.read("demo", COPIES), section={}))
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} == {f"{stage}.json" for stage in BY_NAME}


def test_a_home_that_cannot_be_written(store: ArtifactStore, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StateDirectoryError):
        ArtifactStore(Home(tmp_path / "file")).write(store.read("demo", COPIES))
