"""InetSource of the toolkit com.ibm.streamsx.inet: documents are fetched again and again, and each value is a tuple."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_read
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.diagnostics import ApplicationError, errors_of
from streams_orchestration.model.spl_options import SplOptions, spl_options
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.toolkits.inet_source import InetSource
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.servers.echoing import server
from streams_orchestration_tests.servers.receiving import receiving
from streams_orchestration_tests.waiting import until

TEXT = "line string NOT NULL, other int NOT NULL"


def produce(bench: Bench, is_done: Callable[[bool], bool]) -> None:
    """Receive and produce until the condition, which is told whether the source is exhausted, is met."""
    reached: dict[str, Any] = {}

    def done() -> bool:
        made = bench.produce(reached.get("offset"))
        reached["offset"] = made.offset
        return is_done(made.exhausted)

    assert isinstance(bench.operator, InetSource)
    with receiving(bench.operator):
        until(done, lambda: f"the source has not come there: {bench.items()}")


@pytest.mark.slow
def test_each_line_of_each_document_is_a_tuple_and_a_marker_ends_the_fetch(tmp_path: Path):
    with server() as (address, _):
        addresses = [f"{address}/a", f"{address}/bad", "http://127.0.0.1:1/nobody"]
        given: dict[str, Any] = {"URIList": addresses, "iterations": 2, "fetchInterval": 0, "punctPerFetch": True}
        bench = Bench(InetSource, [], [TEXT], results=tmp_path, **given)
        produce(bench, lambda exhausted: exhausted)
    fetch = [("GET /a", 0), ("GET /bad", 0), Punctuation.WINDOW]
    assert bench.items() == [*fetch, *fetch]


@pytest.mark.slow
def test_lines_that_are_added_to_a_file_are_submitted_once_after_the_first_fetch(tmp_path: Path):
    file = tmp_path / "grows.txt"
    file.write_text("old\n")
    added = ["one\ntwo"]
    given: dict[str, Any] = {"URIList": f"file://{file}", "fetchInterval": 0.05, "incrementalFetch": True}
    bench = Bench(InetSource, [], [TEXT], results=tmp_path, doNotStreamInitialFetch=True, punctPerFetch=True, **given)

    def is_done(_: bool) -> bool:
        if added and Punctuation.WINDOW in bench.items():
            with file.open("a") as grows:  # in one write, so that no fetch sees an incomplete file
                grows.write(added.pop())
        return len(bench.rows()) == 2

    produce(bench, is_done)
    assert bench.rows() == [("one", 0), ("two", 0)]


@pytest.mark.slow
def test_a_file_that_was_changed_within_one_tick_of_the_clock_is_fetched_again(tmp_path: Path):
    file = tmp_path / "grows.txt"
    file.write_text("old\n")
    time = file.stat().st_mtime_ns
    bench = Bench(
        InetSource, [], [TEXT], results=tmp_path, URIList=f"file://{file}", fetchInterval=0.05, incrementalFetch=True
    )

    def is_done(_: bool) -> bool:
        if bench.rows() == [("old", 0)]:
            longer = tmp_path / "longer.txt"
            longer.write_text("old\none")
            os.utime(longer, ns=(time, time))
            longer.replace(file)
        return len(bench.rows()) == 2

    produce(bench, is_done)
    assert bench.rows() == [("old", 0), ("one", 0)]


LISTS = [
    ({}, [["a", "b", "c", "a", "b", "c"]]),
    ({"emitTuplePerURI": True}, [["a", "b", "c"], ["a", "b", "c"]]),
    ({"emitTuplePerRecordCount": 4}, [["a", "b", "c", "a"]]),
    ({"inputLinesPerRecord": 2, "intraRecordPadValue": "+"}, [["a+b", "c", "a+b", "c"]]),
    ({"inputLinesPerRecord": 0}, [["a b c", "a b c"]]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("given", "expected"), LISTS)
def test_records_are_gathered_in_lists(given: dict[str, Any], expected: list[list[str]], tmp_path: Path):
    (tmp_path / "a.txt").write_text("a\nb\nc\n")
    documents = [f"file:///{tmp_path}/a.txt"] * 2
    schema = "lines array<string> NOT NULL"
    bench = Bench(InetSource, [], [schema], results=tmp_path, URIList=documents, iterations=1, **given)
    produce(bench, lambda exhausted: exhausted)
    assert [lines for (lines,) in bench.rows()] == expected


@pytest.mark.slow
def test_a_blob_has_the_whole_document(tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"\xff\n\0")
    given: dict[str, Any] = {"URIList": [f"file://{tmp_path}/a.bin"], "iterations": 1}
    bench = Bench(InetSource, [], ["data binary NOT NULL"], results=tmp_path, **given)
    produce(bench, lambda exhausted: exhausted)
    assert bench.rows() == [(b"\xff\n\0",)]


WRONG = [
    ("rstring line", 'URIList : ["ftp://host/x"];', "URIList: 'ftp://host/x' begins with none of http://"),
    (
        "rstring line",
        'URIList : ["http://h/x"]; emitTuplePerURI : true;',
        "emitTuplePerURI: the attribute line is rstring",
    ),
    ("int32 line", 'URIList : ["http://h/x"];', "the attribute line is int32, but rstring, list<rstring> or blob is"),
    ("rstring line", 'URIList : ["http://h/x"]; iterations : 1u;', ""),
]


@pytest.mark.parametrize(("type_", "parameters", "message"), WRONG)
def test_an_invocation_in_spl_is_checked(type_: str, parameters: str, message: str, tmp_path: Path):
    spec = tmp_path / "Main.spl"
    spec.write_text(
        "use com.ibm.streamsx.inet::InetSource;\ncomposite Main { graph\n"
        f"stream<{type_}> Got = InetSource() {{ param {parameters} }}\n"
        '() as Out = FileSink(Got) { param file : "got"; } }'
    )
    spl_options.set(SplOptions())
    compilation = compile_read(read_application(spec))
    if not message:
        assert deployable(compilation)
        return
    with pytest.raises(ApplicationError) as error:
        deployable(compilation)
    assert re.search(re.escape(message), errors_of(error.value.diagnostics)[0].message)
