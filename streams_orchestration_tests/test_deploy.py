"""The files for Kubernetes and Docker Compose: right by their schemas, and by each other."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyCompose

from streams_orchestration.runtime.settings.settings import EngineSettings, Settings
from streams_orchestration.runtime.storage.stores import store_at

DOCS = Path(__file__).parents[1] / "docs"
DEPLOY = DOCS / "deploy"
MANIFESTS: list[dict[str, Any]] = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def of_kind(kind: str) -> dict[str, Any]:
    (one,) = (each for each in MANIFESTS if each["kind"] == kind)
    return one


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: each["kind"])
def test_the_schema_accepts_it(manifest: dict[str, Any]):
    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_a_manifest_that_is_wrong_is_not():
    wrong = of_kind("Service") | {"spek": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)


def test_settings_of_the_agent_match_the_volumes_and_images_of_executors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    conf = tmp_path / "spark.conf"
    conf.write_text(of_kind("ConfigMap")["data"]["spark.conf"])
    pod = of_kind("Deployment")["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in container["env"] if "value" in each}
    for name, value in (environment | {"STREAMS_SPARK_CONF": str(conf)}).items():
        monkeypatch.setenv(name, value)
    engine = Settings.from_environment().engine()
    assert engine.cluster
    properties = engine.properties()
    service, claim = of_kind("Service"), of_kind("PersistentVolumeClaim")["metadata"]["name"]
    assert properties["spark.driver.host"] == f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.home"
    assert properties[f"{volume}.options.claimName"] == claim
    (home,) = (each["mountPath"] for each in container["volumeMounts"] if each["name"] == "home")
    assert properties[f"{volume}.mount.path"] == home
    assert Path(environment["STREAMS_HOME"]).is_relative_to(home)
    assert properties["spark.kubernetes.container.image"] == container["image"]


COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def test_the_schema_of_compose_accepts_it():
    compose = PyCompose.from_json(json.dumps(COMPOSE))
    compose.validate()
    assert set(compose.service_names()) == {*COMPOSE["services"]}


def test_mounted_files_and_volumes_exist():
    sources = {part.split(":")[0] for each in COMPOSE["services"].values() for part in each["volumes"]}
    assert {source for source in sources if source.startswith(".") and not (DEPLOY / source).exists()} == set()
    assert {source for source in sources if not source.startswith(".")} == set(COMPOSE["volumes"])


def test_machines_share_an_object_store_with_valid_settings(tmp_path: Path):
    environment = COMPOSE["x-streams"]["environment"]
    options = environment["STREAMS_STORAGE_OPTIONS"].replace("$$", "$")
    assert store_at(tmp_path, environment["STREAMS_STORAGE"], options).address == environment["STREAMS_STORAGE"]
    assert all(name in environment for name in re.findall(r"env:(\w+)", options))
    home = Path(environment["STREAMS_HOME"])
    assert not [each for each in COMPOSE["x-streams"]["volumes"] if home.is_relative_to(each.split(":")[1])]


def test_the_code_location_is_where_dagster_looks_for_it():
    (location,) = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"]
    server = location["grpc_server"]
    command = COMPOSE["services"][server["host"]]["command"]
    assert command[command.index("--port") + 1] == str(server["port"])


def test_only_this_machine_reaches_what_is_published():
    published = [port for each in COMPOSE["services"].values() for port in each.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("name", [name for name in COMPOSE["services"] if name not in ("postgres", "minio")])
def test_its_commands_exist(name: str):
    program = COMPOSE["services"][name]["command"][0]
    assert (Path(sys.executable).parent / program).exists()


def blocks() -> list[str]:
    """Return the properties that the page shows."""
    parts = (DOCS / "spark-clusters.md").read_text().split("```")[1::2]
    return [part.replace("...", "text") for part in parts if "\nspark." in part and "$" not in part]


@pytest.mark.parametrize("text", blocks())
def test_properties_of_the_page_can_be_used(text: str, tmp_path: Path):
    conf = tmp_path / "spark.conf"
    conf.write_text(text)
    assert EngineSettings("1g", "yarn", str(conf)).properties()


def test_the_page_has_properties():
    assert len(blocks()) >= 3
