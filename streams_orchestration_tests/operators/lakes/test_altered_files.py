"""Sinks of lake tables: a waiting file that is altered after it was checked is never added to a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.operators.lakes import data_files
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, WaitingFileError
from streams_orchestration.operators.storage.durable_files import checksum_of
from streams_orchestration_tests.operators.lakes.lakes import LAKES, Delta, deliver, delivery

pytestmark = pytest.mark.filterwarnings("ignore:Iceberg scan planning")
ROWS = [("a", 1), ("b", 2), ("a", 3)]


@pytest.fixture(params=LAKES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Delta:
    return LAKES[request.param](tmp_path)


@pytest.mark.parametrize("small", [1, 16 << 20], ids=["as it is", "merged"])
@pytest.mark.parametrize("key", [[], ["k", "n"]], ids=["append", "upsert"])
def test_a_file_that_is_altered_is_named_and_not_added(
    lake: Delta, monkeypatch: pytest.MonkeyPatch, small: int, key: list[str]
):
    monkeypatch.setattr(data_files, "SMALL_BYTES", small)
    bench = lake.sink(key=key)
    deliver(bench, ROWS)
    (file,) = bench.send([("zz", 7)]).commit()
    operator = bench.operator
    assert isinstance(operator, EpochSink)
    operator.checksums = {file.pending: checksum_of(file.pending)}
    file.pending.write_bytes(file.pending.read_bytes().replace(b"zz", b"zy"))
    operator.open()
    with pytest.raises(WaitingFileError) as raised:
        operator.deliver_files(delivery(2), [file.pending])
    assert raised.value.path == file.pending
    assert lake.rows() == sorted(ROWS)
