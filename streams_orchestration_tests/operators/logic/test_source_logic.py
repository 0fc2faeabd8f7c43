"""Sources whose outputs are expressions of SPL, with variables that the offset holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import TupleError
from streams_orchestration.operators.standard.files.directory_scan import DirectoryScan
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.files.named_files import NamedFiles
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples

ROW = "n int NOT NULL, f string NOT NULL, k bigint NOT NULL"
OUTPUT = {"f": {"spl": "word + (rstring) TupleNumber()"}, "k": {"spl": "c++"}}
LOGIC = {"state": 'mutable int64 c = 100l; rstring word = "w";'}


def files(path: Path) -> Path:
    """Write two files, with three rows and one."""
    (path / "one.csv").write_text("1\n2\n3\n")
    (path / "two.csv").write_text("7\n")
    return path


@given(st.lists(st.integers(1, 3), max_size=6), st.booleans())
@examples(30)
def test_a_file_source_goes_on_from_the_variables_in_its_offset(
    tmp_path_factory: pytest.TempPathFactory, limits: list[int], restarts: bool
):
    place = files(tmp_path_factory.mktemp("files"))
    parameters = {"file": str(place / "*.csv"), "format": "splCsv", "output": OUTPUT, "spl": LOGIC}
    bench = OperatorHarness(FileSource, [], [ROW], parameters=parameters)
    offset: Any = None
    for limit in [*limits, 10]:
        offset = bench.produce(offset, limit).offset
        if restarts:
            bench.restart()
    assert bench.rows() == [(1, "w1", 100), (2, "w2", 101), (3, "w3", 102), (7, "w1", 103)]
    assert offset["variables"] == {"c": 104, "word": "w"}


@pytest.mark.parametrize("limit", [1, 5])
def test_a_directory_scan_counts_files(tmp_path: Path, limit: int):
    parameters = {
        "directory": str(files(tmp_path)), "sortBy": "name", "spl": LOGIC,
        "output": {"k": {"spl": "c++"}, "f": {"spl": 'FileName() + word + (rstring) Size()'}},
    }  # fmt: skip
    scan = OperatorHarness(
        DirectoryScan, [], ["name string NOT NULL, f string NOT NULL, k bigint NOT NULL"], parameters=parameters
    )
    reached = scan.produce(limit=limit)
    for _ in range(2):
        reached = scan.restart().produce(reached.offset, limit)
    assert scan.rows() == [
        (f"{tmp_path}/one.csv", "one.csvw6", 100),
        (f"{tmp_path}/two.csv", "two.csvw2", 101),
    ]


def test_an_expression_without_variables_needs_no_logic(tmp_path: Path):
    output = {"f": {"spl": "tail(FileName())", "functions": ["rstring tail(rstring s) { return s[length(s) - 7 :]; }"]}}
    named = OperatorHarness(
        NamedFiles, ["name string"], ["n int NOT NULL, f string NOT NULL"],
        parameters={"format": "splCsv", "output": output},
    )  # fmt: skip
    named.send([(str(files(tmp_path) / "two.csv"),)])
    assert named.rows() == [(7, "two.csv")]
    source = OperatorHarness(
        FileSource, [], ["n int NOT NULL, f string NOT NULL"],
        parameters={"file": str(tmp_path / "two.csv"), "format": "splCsv", "output": output},
    )  # fmt: skip
    assert "variables" not in source.produce().offset
    assert source.rows() == [(7, "two.csv")]


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (FileSource, {"output": {"f": {"spl": "1"}}}, "output.f: the value is int32"),
        (FileSource, {"output": {"f": {"spl": '"x"'}}, "interleave": True}, "interleave reads files side by side"),
        (FileSource, {"output": {"g": {"spl": '"x"'}}}, "no attribute g"),
        (DirectoryScan, {"output": {"f": "x"}}, "is not an SPL expression"),
        (DirectoryScan, {"output": {"f": {"spl": "(rstring) Atime()"}}}, "Atime"),
    ],
)
def test_wrong_outputs_of_a_source_are_refused(tmp_path: Path, kind: Any, parameters: dict[str, Any], message: str):
    place = {"file": str(files(tmp_path) / "*.csv"), "format": "splCsv"} if kind is FileSource else {}
    place = place or {"directory": str(tmp_path)}
    row = "n int NOT NULL, f string NOT NULL" if kind is FileSource else "n string NOT NULL, f string NOT NULL"
    with pytest.raises(ValueError, match=message):
        OperatorHarness(kind, [], [row], parameters={**place, **parameters})


def test_logic_of_a_source_with_an_input_port_goes_on_after_a_restart(tmp_path: Path):
    logic = {
        "state": "mutable int32 seen = 0; mutable int32 rows = 0;",
        "onTuple": {0: "{ seen++; if (seen == 4) abort(); }"},
    }
    named = OperatorHarness(
        NamedFiles, ["name string"], ["n int NOT NULL, f int NOT NULL, r int NOT NULL"],
        parameters={"format": "splCsv", "output": {"f": {"spl": "seen"}, "r": {"spl": "++rows"}}, "spl": logic},
    )  # fmt: skip
    name = str(files(tmp_path) / "two.csv")
    named.send([(name,)]).restart()
    named.send([(name,)])
    assert named.rows() == [(7, 1, 1), (7, 2, 2)]
    with pytest.raises(TupleError) as failed:
        named.send([(name,), (name,)])
    assert failed.value.position == 1
    assert "abort" in str(failed.value.__cause__)
