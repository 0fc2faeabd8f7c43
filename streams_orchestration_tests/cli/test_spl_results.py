"""Results of an application in SPL as JSON: numbers, texts, lists and null, all other values as texts of SPL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli.results import read_result, result_document
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.spl_options import SplOptions, spl_options
from streams_orchestration.runtime.observing.reading import read_status_if_deployed
from streams_orchestration.runtime.stepping import SteppedApplication
from streams_orchestration.runtime.storage.home import Home

pytestmark = pytest.mark.slow

VALUES: dict[str, tuple[str, str, Any]] = {
    "n": ("uint64", "18446744073709551615ul", 18446744073709551615),
    "l": ("list<list<int32>>", "[[1], (list<int32>) []]", [[1], []]),
    "lo": ("list<optional<int32>>", "[null, (optional<int32>) 3]", [None, 3]),
    "o": ("optional<int32>", "null", None),
    "ol": ("optional<list<rstring>>", 'IterationCount() == 1ul ? (optional<list<rstring>>) null : ["a"]', ["a"]),
    "t": ("timestamp", "createTimestamp(5l, 7u)", "(5,7,0)"),
    "lt": ("list<timestamp>", "[createTimestamp(5l, 7u)]", ["(5,7,0)"]),
    "s": ("set<int32>", "{2, 1}", "{2,1}"),
    "ls": ("list<set<rstring>>", '[{"a"}]', ['{"a"}']),
    "m": ("map<rstring, optional<float64>>", '{"k" : (optional<float64>) null}', '{"k":null}'),
    "e": ("enum{red, green}", "green", "green"),
    "r": ("tuple<enum{red, green} e, optional<timestamp> t, rstring s>",
          '{e = green, t = (optional<timestamp>) createTimestamp(1l, 9u), s = "x"}', '{e=green,t=(1,9,0),s="x"}'),
}  # fmt: skip


@pytest.mark.parametrize("format_", ["csv", "txt"])
def test_rows_have_the_values_of_the_tuples(format_: str, tmp_path: Path):
    type_ = ", ".join(f"{kind} {name}" for name, (kind, _, _) in VALUES.items())
    output = ", ".join(f"{name} = {value}" for name, (_, value, _) in VALUES.items())
    (tmp_path / "Main.spl").write_text(f"""type T = {type_};
composite Main {{ graph
  stream<T> Src = Beacon() {{ param iterations : 1; output Src : {output}; }}
  () as Out = FileSink(Src) {{ param file : "out"; format : {format_}; }}
}}""")
    spl_options.set(SplOptions())
    stepped = SteppedApplication(Home(tmp_path / "home"), compile_spec(tmp_path / "Main.spl", Options(fusion="legacy")))
    stepped.run()
    status = read_status_if_deployed(stepped.catalog, stepped.name)
    assert status is not None
    [sink] = status.sinks
    assert result_document(read_result(sink, 10))["rows"] == [{name: value for name, (_, _, value) in VALUES.items()}]
