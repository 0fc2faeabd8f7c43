"""Tables of Iceberg in a catalog that is reached by REST, with their files on an S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.references import UnresolvedReferenceError
from streams_orchestration_tests.operators.lakes.lakes import RestIceberg, deliver, delivery, numbers, read
from streams_orchestration_tests.servers.iceberg_rest import RestCatalog
from streams_orchestration_tests.servers.proxy import Proxy
from streams_orchestration_tests.servers.registry import small_registry
from streams_orchestration_tests.servers.s3 import SECRET

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.parametrize("s3", ["moto"], indirect=True),
    pytest.mark.filterwarnings("ignore:Iceberg scan planning"),
]
ROWS = [("a", 1), ("b", 2), ("a", 3)]
TOKEN = "planted-catalog-token"


@pytest.fixture
def lake(rest_catalog: RestCatalog, tmp_path: Path) -> RestIceberg:
    return RestIceberg(tmp_path, rest_catalog, rest_catalog.table())


@pytest.fixture
def proxy(rest_catalog: RestCatalog) -> Iterator[Proxy]:
    proxy = rest_catalog.proxy()
    yield proxy
    proxy.close()


@pytest.mark.parametrize("key", [[], ["k", "n"]], ids=["append", "upsert"])
def test_rows_that_are_written_are_read_back(lake: RestIceberg, key: list[str]):
    bench = lake.sink(key=key, partitionBy=["k"])
    for epoch in (1, 1, 2, 1):
        deliver(bench, [(k, n + 10 * epoch) for k, n in ROWS], delivery(epoch), batches=2)
    wanted = sorted((k, n + 10 * epoch) for epoch in (1, 2) for k, n in ROWS)
    assert lake.rows() == lake.rows_of_duckdb() == wanted
    source = lake.source(until="latest")
    read(source)
    assert sorted(source.rows()) == wanted


def test_a_source_goes_on_where_the_catalog_was_away(lake: RestIceberg, proxy: Proxy):
    lake.make_empty()
    lake.append(("a", 1), ("b", 2), ("c", 3))
    lake.port = proxy.port
    source = lake.source()
    proxy.cut()
    for tries in (1, 2):
        assert source.produce() == ({}, False)
        assert source.metrics["failed_tries"] == tries
    proxy.open()
    read(source)
    assert sorted(numbers(source)) == [1, 2, 3]


AWAY: list[tuple[dict[str, str], type[Exception], str]] = [
    (
        {"uri": "http://127.0.0.1:9/iceberg"},
        LakeError,
        r"the catalog http://127.0.0.1:9/iceberg cannot be used: .*refused",
    ),
    ({"s3.secret-access-key": "${env:NOT_SET}"}, UnresolvedReferenceError, r"NOT_SET is not set"),
]


@pytest.mark.parametrize(("change", "error", "message"), AWAY)
def test_an_unreachable_catalog_or_store_is_named(
    lake: RestIceberg, change: dict[str, str], error: type[Exception], message: str
):
    sink = lake.sink(catalog=lake.catalog() | change)
    with pytest.raises(error, match=message) as raised:
        deliver(sink, ROWS)
    assert SECRET not in str(raised.value)


REFUSALS = {401: "NotAuthorizedException", 403: "ForbiddenException"}
"""The names of refusals in a catalog's answers, by status."""


@pytest.mark.parametrize("status", REFUSALS)
def test_a_catalog_that_refuses_the_credentials_is_named_without_them(
    lake: RestIceberg, monkeypatch: pytest.MonkeyPatch, status: int
):
    monkeypatch.setenv("TEST_CATALOG_TOKEN", TOKEN)
    with small_registry() as server:
        server.answers += [(status, {"error": {"message": "no", "type": REFUSALS[status], "code": status}})] * 50
        properties = lake.catalog() | {"uri": server.address, "token": "${env:TEST_CATALOG_TOKEN}"}
        wanted = rf"the catalog {server.address} cannot be used: .*; check the address, the rights and the credentials"
        with pytest.raises(LakeError, match=wanted) as writing:
            deliver(lake.sink(catalog=properties), ROWS)
        with pytest.raises(LakeError, match=wanted) as reading:
            lake.source(catalog=properties).produce()
    assert TOKEN not in f"{writing.value} {reading.value}"
