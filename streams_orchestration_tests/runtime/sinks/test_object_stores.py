"""Parts of a FileSink in an object store: there with their epoch, once, whoever dies or is away in between."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import NotDeployableError, OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import rows
from streams_orchestration_tests.runtime.faults import KilledError, kill_at
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.sinks.stored_parts import COUNT, Application
from streams_orchestration_tests.servers.proxy import Proxy
from streams_orchestration_tests.servers.s3 import BUCKET, KEY, S3, SECRET

pytestmark = pytest.mark.usefixtures("no_hosts")


@pytest.fixture
def proxy(s3: S3) -> Iterator[Proxy]:
    proxy = Proxy(int(s3.endpoint.rpartition(":")[2]))
    yield proxy
    proxy.close()


@pytest.mark.parametrize("parameters", [{}, {"closeMode": "batch"}, {"epochsPerFile": 1}])
def test_all_tuples_are_there_once_at_the_end(s3: S3, tmp_path: Path, parameters: dict[str, Any]):
    application = Application(s3, tmp_path, **parameters)
    application.local.run()
    assert (application.visible(), application.waiting()) == (sorted(rows(COUNT)), [])
    actual = read_status(Catalog(application.home), application.local.name).sinks[0]
    assert (actual.rows, actual.waiting, actual.place) == (COUNT, 0, f"s3://{BUCKET}/{application.directory}")


def test_values_of_attributes_name_directories(s3: S3, tmp_path: Path):
    application = Application(s3, tmp_path, partitionBy=["k"])
    application.local.run()
    directories = {name.removeprefix(f"{application.directory}/").split("/")[0] for name in application.names()}
    assert directories == {f"k={key}" for key, _ in rows(COUNT)}


def test_an_epoch_that_is_not_complete_is_not_there_and_a_reset_leaves_nothing_of_it(s3: S3, tmp_path: Path):
    application = Application(s3, tmp_path, closeMode="batch")
    application.local.commit(boundary=True)
    application.local.commit()
    application.local.publish()
    assert application.visible() == sorted(rows(5))
    reset_unit(Catalog(application.home), application.local.name, "region-0")
    application.local.publish()
    assert (application.visible(), application.waiting()) == (sorted(rows(5)), [])
    application.local.run()
    assert application.visible() == sorted(rows(COUNT))


@pytest.mark.covering
@pytest.mark.parametrize("call", range(1, 12))
def test_publishing_may_die_at_any_step_and_be_repeated(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
):
    application = Application(s3, tmp_path, epochsPerFile=1)
    application.local.commit()
    application.local.commit(boundary=True)
    with monkeypatch.context() as patch:
        died = kill_at(patch, call)
        try:
            application.local.publish()
        except KilledError:
            assert died()
    local = application.local
    # the deliverers of the next process
    local.deliverers = make_deliverers(local.catalog, local.name, local.programs)
    local.publish()
    local.publish()
    assert application.visible() == sorted(rows(10))
    local.run()
    assert (application.visible(), application.waiting()) == (sorted(rows(COUNT)), [])


@pytest.mark.usefixtures("one_attempt")
@pytest.mark.covering
@pytest.mark.parametrize("after", [0, 1, 400])
def test_a_store_that_is_away_loses_nothing(s3: S3, tmp_path: Path, proxy: Proxy, after: int):
    storage = {**s3.storage, "endpoint": f"http://127.0.0.1:{proxy.port}"}
    application = Application(s3, tmp_path, closeMode="batch", storage=storage)
    application.local.commit()
    application.local.commit(boundary=True)
    proxy.cut(after)
    with pytest.raises(OutputError, match=r"cannot be reached.*tried again, nothing is lost") as error:
        application.local.publish()
    assert not error.value.permanent
    assert application.visible() in ([], sorted(rows(5)), sorted(rows(10))), "a file may arrive without an answer"
    proxy.open()
    application.local.publish()
    assert application.visible() == sorted(rows(10))


def test_a_bucket_that_is_gone_stops_the_sink_by_name(s3: S3, tmp_path: Path):
    bucket = f"b{uuid.uuid4().hex[:20]}"
    s3.system().create_dir(bucket)
    application = Application(s3, tmp_path, closeMode="batch", file=f"s3://{bucket}/out")
    application.local.commit(boundary=True)
    waiting = application.waiting()
    s3.system().delete_dir(bucket)
    with pytest.raises(OutputError, match=rf"s3://{bucket}/out/part.*refused.*NO_SUCH_BUCKET") as error:
        application.local.publish()
    assert error.value.permanent
    assert (application.waiting(), len(waiting)) == (waiting, 1)


def test_a_bucket_that_was_never_there_is_found_before_anything_runs(s3: S3, tmp_path: Path):
    with pytest.raises(
        NotDeployableError, match=r"s3://nobucket/out: refused: there is no bucket or container nobucket"
    ):
        Application(s3, tmp_path, file="s3://nobucket/out")


def test_files_of_an_earlier_run_are_refused_and_dropped_by_a_fresh_start(s3: S3, tmp_path: Path):
    application = Application(s3, tmp_path)
    application.local.run()
    other = s3.put(f"{application.directory}/notes.txt", b"of somebody else")
    with pytest.raises(
        NotDeployableError, match=rf"s3://{BUCKET}/{application.directory} has 1 file of an earlier run"
    ):
        deploy(Home(tmp_path / "another"), deployable(application.compilation))
    deploy(application.home, deployable(application.compilation), fresh=True)
    assert application.names() == [other.removeprefix(f"s3://{BUCKET}/")]


def test_secrets_are_nowhere_but_in_the_environment(s3: S3, tmp_path: Path):
    application = Application(s3, tmp_path)
    application.local.run()
    status = json.dumps(read_status(Catalog(application.home), application.local.name), default=str)
    contents = [path.read_bytes() for path in application.home.root.rglob("*") if path.is_file()]
    for secret in (KEY, SECRET):
        assert secret not in status
        assert not any(secret.encode() in content for content in contents)
