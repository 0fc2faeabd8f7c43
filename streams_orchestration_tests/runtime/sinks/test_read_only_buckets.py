"""A bucket that may be read and not written: each sink stops by the bucket's name, with the reason and the remedy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.standard.systems.delta_sink import DeltaSink
from streams_orchestration.operators.standard.systems.iceberg_sink import IcebergSink
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.lakes.lakes import SCHEMA, deliver
from streams_orchestration_tests.runtime.sinks.stored_parts import Application
from streams_orchestration_tests.servers import s3 as servers
from streams_orchestration_tests.servers.jars import NotToBeHadError
from streams_orchestration_tests.servers.s3 import BUCKET, KEY, S3, SECRET

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]
READS = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["s3:Get*", "s3:Head*", "s3:List*"], "Resource": "*"}],
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """A server that goes by the rights of its users; ours may read."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(servers.moto(tmp_path_factory.mktemp("guarded")))
        except NotToBeHadError as error:
            pytest.skip(str(error))
        import boto3

        iam: Any = boto3.client(
            "iam", endpoint_url=server.endpoint, region_name="us-east-1", aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )  # fmt: skip
        iam.create_user(UserName="reader")
        iam.put_user_policy(UserName="reader", PolicyName="reads", PolicyDocument=json.dumps(READS))
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        address = f"{server.endpoint}/moto-api/reset-auth"
        urlopen(Request(address, b"0", {"Content-Type": "text/plain"})).close()
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("TEST_S3_KEY", key["AccessKeyId"])
        patch.setenv("TEST_S3_SECRET", key["SecretAccessKey"])
        yield server


def test_a_file_sink(guarded: S3, tmp_path: Path):
    application = Application(guarded, tmp_path, closeMode="batch")
    application.local.commit(boundary=True)
    with pytest.raises(
        OutputError, match=rf"s3://{BUCKET}/.*: refused: .*ACCESS_DENIED.*; check .* the rights"
    ) as error:
        application.local.publish()
    assert error.value.permanent
    assert len(application.waiting()) == 1


@pytest.mark.filterwarnings("ignore:Iceberg scan planning")
@pytest.mark.parametrize("kind", [DeltaSink, IcebergSink])
def test_a_lake_sink(guarded: S3, tmp_path: Path, kind: type[DeltaSink] | type[IcebergSink]):
    catalog = {
        "type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"s3://{BUCKET}/lake",
        "s3.endpoint": guarded.endpoint, "s3.region": "us-east-1", "s3.access-key-id": "${env:TEST_S3_KEY}",
        "s3.secret-access-key": "${env:TEST_S3_SECRET}",
    }  # fmt: skip
    places = {
        DeltaSink: {"table": f"s3://{BUCKET}/table", "storage": guarded.storage},
        IcebergSink: {"table": "lake.table", "catalog": catalog},
    }
    bench = Bench(kind, [SCHEMA], results=tmp_path, createTable=True, **places[kind])
    with pytest.raises(LakeError, match=rf"(?i)cannot be written: .*{BUCKET}.*access.?denied.*; check .* the rights"):
        deliver(bench, [("a", 1)])
