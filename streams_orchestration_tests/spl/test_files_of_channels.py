"""FileSinks of SPL in a parallel region whose channels write files of their own."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.stepping import SteppedApplication
from streams_orchestration.runtime.storage.home import Home

APPLICATION = """
composite Main {
  graph
    stream<int32 n> Src = Beacon() { param iterations : 5; output Src : n = (int32) IterationCount(); }
    @parallel(width = 2, partitionBy = [{port = Src, attributes = [n]}])
    () as Work = Kept(Src) { }
}

composite Kept(input In) {
  graph
    stream<int32 n> Own = Functor(In) { output Own : n = getChannel(); }
    () as Rows = FileSink(Own) {
      param file : getSubmissionTimeValue("front", "f") + "-getChannel()-" + (rstring) (getChannel() + 1) + ".csv";
    }
}
"""


def test_each_channel_writes_the_file_that_its_number_names(tmp_path: Path):
    spec = tmp_path / "Main.spl"
    spec.write_text(APPLICATION)
    options = Options(submission={"front": "rows"}, fusion="legacy")
    stepped = SteppedApplication(Home(tmp_path / "home"), compile_spec(spec, options))
    stepped.run()
    found = {
        channel: {line for file in stepped.published(f"rows-getChannel()-{channel + 1}.csv") for line in lines(file)}
        for channel in range(2)
    }
    assert found == {0: {"0"}, 1: {"1"}}


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines()
