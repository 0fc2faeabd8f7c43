"""Tuples of a stream that somebody looks at: only where a deployment lets them, and never what is masked."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update

from streams_orchestration.cli.entry import main
from streams_orchestration.model.secrets import HIDDEN
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import SegmentRow
from streams_orchestration.runtime.observing.samples import (
    LONGEST_TEXT,
    Mask,
    NoSampleError,
    NothingPassesError,
    Sample,
    read_sample,
)
from streams_orchestration.runtime.settings.settings import SAMPLE_MASK, SAMPLES
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.transport.segments import write_segment
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import rows, totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalApplication:
    """PE 0 writes Doubled for the two channels of a region, which are PEs of their own; three tuples may be seen."""
    monkeypatch.setenv(SAMPLES, "3")
    compilation = totals(write_rows(tmp_path / "rows.parquet", 60), fusion="manual", pes=3)
    made = LocalApplication(Home(tmp_path / "home"), compilation, 5)
    made.step(made.programs[0])
    return made


def sample(application: LocalApplication, stream: str) -> Sample:
    return read_sample(application.catalog, application.name, application.compilation, stream)


def put(application: LocalApplication, *items: Any, schema: pa.Schema, number: int = 100) -> None:
    """Write the last segment of Doubled."""
    stream = "Doubled>PerKey.In[0]"
    made = write_segment(application.home.store, "put", stream, schema, list(items))
    with application.catalog.write() as connection:
        last = SegmentRow.all(connection, select(tables.segment).limit(1))[0]
        row = replace(
            last, stream=stream, number=number, path=made.path, rows=made.rows, size=made.size, checksum=made.checksum,
            committed_at=last.committed_at + number, batch=number,
        )  # fmt: skip
        values = {name: getattr(row, name) for name in SegmentRow.__dataclass_fields__}
        connection.execute(tables.segment.insert().values(values))


def test_the_first_tuples_of_the_last_batch_are_shown(application: LocalApplication):
    taken = sample(application, "Doubled")
    assert [(each.name, each.type, each.masked) for each in taken.attributes] == [
        ("k", "string", False),
        ("n", "int64", False),
    ]
    written = [(k, str(2 * n)) for k, n in rows(taken.tuples)]
    assert len(taken.rows) == 3
    assert [row for row in written if row in taken.rows][:3] == list(taken.rows), "of one channel, in their order"
    assert (taken.pe, taken.batch, taken.epoch) == (0, 0, 1)
    application.step(application.programs[0])
    assert sample(application, "Doubled").batch == 1


def test_nothing_is_shown_unless_the_deployment_lets_it(application: LocalApplication):
    with application.catalog.write() as connection:
        a = tables.application
        settings = dict(connection.scalars(select(a.c.settings)).one())
        connection.execute(update(a).values(settings={**settings, "samples": 0}))
    with pytest.raises(NoSampleError, match=f"{SAMPLES}=20"):
        sample(application, "Doubled")


@pytest.mark.parametrize("name", ["PerKey", "PerKey[1]"])
def test_a_stream_has_its_physical_and_its_logical_name(application: LocalApplication, name: str):
    application.step(application.programs[2])
    assert sample(application, name).pe == 2


@pytest.mark.parametrize(
    ("stream", "part"),
    [
        ("Nothing", "there is no stream Nothing. Between PEs: Doubled, PerKey[1]"),
        ("Rows", "Rows stays within a PE"),
        ("PerKey[0]", "PerKey[0] stays within a PE"),
    ],
)
def test_a_stream_that_is_none_between_pes_is_named(application: LocalApplication, stream: str, part: str):
    with pytest.raises(NoSampleError, match=re.escape(part)):
        sample(application, stream)


def test_removed_and_retracted_segments_are_not_shown(application: LocalApplication):
    with application.catalog.write() as connection:
        paths = connection.scalars(select(tables.segment.c.path)).all()
    for path in paths:
        application.home.store.remove(path)
    with pytest.raises(NothingPassesError, match="removed"):
        sample(application, "Doubled")
    with application.catalog.write() as connection:
        connection.execute(update(tables.segment).values(retracted=True))
    with pytest.raises(NothingPassesError, match="no tuple of Doubled is in transit"):
        sample(application, "Doubled")


def test_a_file_that_holds_something_else_is_no_sample(application: LocalApplication):
    with application.catalog.read() as connection:
        for path in connection.scalars(select(tables.segment.c.path)):
            application.home.store.write(path, b"no tuples")
    with pytest.raises(NothingPassesError):
        sample(application, "Doubled")


def test_values_are_texts_of_bounded_length(application: LocalApplication):
    columns: dict[str, list[Any]] = {
        "text": ["x" * 10_000, "<script>alert(1)</script>"],
        "control": ["a\x1b[31mb", "c\u202ed"],
        "nothing": [None, "null"],
        "binary": [b"\x00\xff", b"y" * 5000],
        "flag": [True, False],
        "at": [datetime.datetime(2013, 1, 1), None],
        "list": [["http://me:password@there/"], []],
        "person": [{"name": "Ann", "iban": "DE1"}, None],
    }
    batch = pa.RecordBatch.from_pydict(columns)
    put(application, TupleBatch(batch), Punctuation.WINDOW, schema=batch.schema)
    taken = sample(application, "Doubled")
    first, second = (dict(zip(columns, row, strict=True)) for row in taken.rows)
    assert first["text"] == "x" * LONGEST_TEXT + "…"
    assert second["text"] == "<script>alert(1)</script>"
    assert (first["control"], second["control"]) == (r"a\u001b[31mb", r"c\u202ed")
    assert (first["nothing"], second["nothing"]) == (None, "null")
    assert first["binary"] == "0x00ff"
    assert len(second["binary"] or "") == LONGEST_TEXT + 1
    assert (first["flag"], first["at"]) == ("true", "2013-01-01T00:00:00")
    assert first["list"] == f'["http://me:{HIDDEN}@there/"]'
    assert first["person"] == '{"name": "Ann", "iban": "DE1"}'


def test_times_that_python_has_not_are_texts(application: LocalApplication):
    batch = pa.RecordBatch.from_arrays([pa.array([2**60], pa.timestamp("s"))], ["at"])
    put(application, TupleBatch(batch), schema=batch.schema)
    assert sample(application, "Doubled").rows[0][0]


def test_masked_attributes_are_hidden_at_any_depth(application: LocalApplication):
    with application.catalog.write() as connection:
        a = tables.application
        settings = dict(connection.scalars(select(a.c.settings)).one())
        connection.execute(update(a).values(settings={**settings, "sample_mask": "IBAN mail*"}))
    columns: dict[str, list[Any]] = {
        "k": ["a"],
        "mail_address": ["a@b"],
        "api_token": ["s3cret"],
        "passwords": [["s3cret", "s3cret"]],
        "person": [{"name": "Ann", "iban": "s3cret", "cards": [{"iban": "s3cret"}]}],
    }
    types = pa.RecordBatch.from_pydict(columns)
    headers = pa.array([[("authorization", "s3cret"), ("host", "h")]], pa.map_(pa.string(), pa.string()))
    batch = pa.RecordBatch.from_arrays([*types.columns, headers], [*columns, "headers"])
    put(application, TupleBatch(batch), schema=batch.schema)
    taken = sample(application, "Doubled")
    shown = dict(zip(batch.schema.names, taken.rows[0], strict=True))
    assert "s3cret" not in str(shown)
    assert [each.name for each in taken.attributes if each.masked] == ["mail_address", "api_token", "passwords"]
    assert shown["mail_address"] == shown["api_token"] == shown["passwords"] == HIDDEN
    assert shown["k"] == "a"
    assert '"host", "h"' in (shown["headers"] or "")


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@examples(100)
@given(name=st.text(min_size=1, max_size=8), value=values)
def test_a_mask_of_everything_hides_everything(name: str, value: Any):
    assert Mask(("*",)).attribute(name, value) == (None if value is None else HIDDEN)


@examples(100)
@given(value=values)
def test_a_masked_attribute_is_hidden_at_every_depth(value: Any):
    hidden = Mask(("iban",)).attribute(
        "a", {"other": [value], "iban": "s3cret", "deep": [{"Iban": ["s3cret"], "v": value}]}
    )
    assert "s3cret" not in str(hidden)


def test_a_sample_is_shown_on_the_terminal(
    application: LocalApplication, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("STREAMS_HOME", str(application.home.root))
    assert main(["sample", application.name, "Doubled"]) == 0
    shown = capsys.readouterr()
    assert shown.out.split()[:2] == ["k", "n"]
    assert "of batch 0 of PE 0, in epoch 1" in shown.err
    assert main(["sample", application.name, "Rws"]) == 1
    assert "there is no stream Rws" in capsys.readouterr().err


def test_a_mask_is_a_setting_of_the_deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(SAMPLES, "2")
    monkeypatch.setenv(SAMPLE_MASK, "n")
    made = LocalApplication(
        Home(tmp_path / "home"), totals(write_rows(tmp_path / "r.parquet", 9), fusion="manual", pes=3), 5
    )
    made.step(made.programs[0])
    assert {n for _, n in sample(made, "Doubled").rows} == {HIDDEN}
