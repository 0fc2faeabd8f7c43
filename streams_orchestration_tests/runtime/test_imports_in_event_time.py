"""Imports that take the watermarks of the exported stream (EV48)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime import api
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import PERIODIC, sink
from streams_orchestration_tests.runtime.event_times import OPERATORS, SCHEMAS, lines, through
from streams_orchestration_tests.runtime.exporting import export, run_until_idle
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import forget
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.stepped_clock import SteppedClock

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

MADE = {"attribute": "at"}
PANES = {
    "window": "timeInterval, intervalDuration(10.0)",
    "groupBy": ["k"],
    "output": {"k": "Any(k)", "n": "Sum(n)", "at": "paneTime()"},
}


def application(
    name: str, *graph: dict[str, Any], composites: dict[str, Any] | None = None, **options: Any
) -> PlannedCompilation:
    document = {
        "specVersion": 1, "application": name, "schemas": SCHEMAS, "operators": OPERATORS, "graph": [*graph],
        "composites": composites or {},
    }  # fmt: skip
    return compile_application(application_from_mapping(document), Options(**options))


def deployed(home: Path, compilation: PlannedCompilation) -> LocalApplication:
    return LocalApplication(Home(home), compilation, 5)


def written(file: Path, *rows: str) -> Path:
    with file.open("a") as out:
        out.writelines(f"{row}\n" for row in rows)
    return file


def exporting(home: Path, name: str, *rows: str, timed: bool = True, **parameters: Any) -> LocalApplication:
    """Return an application that exports the lines of a file that grows, with watermarks or without."""
    source = lines("Rows", written(home / name, *rows))
    if not timed:
        source["annotations"] = PERIODIC
    options = parameters or {"properties": {"kind": "rows"}}
    return deployed(home, application(name, source, export("Rows", **options)))


def importing(event_time: dict[str, Any] | None = None, **options: Any) -> PlannedCompilation:
    return application("reader", *reading(event_time), **options)


def reading(event_time: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    taken = {
        "name": "In",
        "operator": "Import",
        "outputs": [{"stream": "In", "schema": "T"}],
        "parameters": {"subscription": 'kind == "rows"', "eventTime": event_time or MADE},
    }
    panes = through("Panes", "Aggregate", "In", parameters=PANES)
    return [taken, panes, sink("Out", "Panes")]


def panes(reader: LocalApplication) -> list[tuple[int, str, int]]:
    found = [row for path in reader.published("Out") for row in pq.read_table(path).to_pylist()]
    return sorted((row["at"], row["k"], row["n"]) for row in found)


def holder(reader: LocalApplication, operator: str = "Panes") -> str:
    (found,) = [each for each in api.read_metrics(reader.catalog, reader.name).event_time if each.operator == operator]
    return found.why


def test_panes_of_an_import_come_when_the_exporter_s_watermark_has_passed_them(tmp_path: Path):
    writer = exporting(tmp_path, "writer", "1000 a 1", "9000 b 2", "8000 a 4")
    reader = deployed(tmp_path, importing())
    run_until_idle(writer, reader)
    assert panes(reader) == []
    written(tmp_path / "writer", "11000 a 8", "9999 b 16")
    run_until_idle(writer, reader)
    assert panes(reader) == []
    written(tmp_path / "writer", "10000 b 32")
    run_until_idle(writer, reader)
    assert panes(reader) == [(9999, "a", 5), (9999, "b", 18)]
    written(tmp_path / "writer", "end")
    run_until_idle(writer, reader)
    assert panes(reader) == [(9999, "a", 5), (9999, "b", 18), (19999, "a", 8), (19999, "b", 32)]
    assert holder(reader) == "its streams have ended"


def test_the_least_of_all_exporters_is_the_watermark_and_each_that_is_gone_holds_nothing_up(tmp_path: Path):
    one = exporting(tmp_path, "one", "1000 a 1", "21000 a 2")
    other = exporting(tmp_path, "other", "2000 b 4")
    reader = deployed(tmp_path, importing())
    run_until_idle(one, other, reader)
    assert panes(reader) == []
    assert holder(reader) == "waits for stream Rows of other"
    cancel_application(other.catalog, "other", 0.0)
    forget(other.home, deployable(other.compilation))
    run_until_idle(one, reader)
    assert panes(reader) == [(9999, "a", 1), (9999, "b", 4)]
    assert holder(reader) == "waits for stream Rows of one"


def test_an_exporter_that_ends_holds_nothing_up_and_leaves_the_others_open(tmp_path: Path):
    one = exporting(tmp_path, "one", "1000 a 1", "11000 a 2")
    other = exporting(tmp_path, "other", "2000 b 4", "end")
    reader = deployed(tmp_path, importing())
    run_until_idle(one, other, reader)
    assert panes(reader) == [(9999, "a", 1), (9999, "b", 4)]
    assert holder(reader) == "waits for stream Rows of one"


def test_a_new_exporter_begins_with_the_watermark_of_the_operator(tmp_path: Path):
    one = exporting(tmp_path, "one", "1000 a 1", "11000 a 2")
    reader = deployed(tmp_path, importing())
    run_until_idle(one, reader)
    other = exporting(tmp_path, "other")
    run_until_idle(one, other, reader)
    written(tmp_path / "one", "21000 a 4")
    written(tmp_path / "other", "5000 b 8", "12000 b 16")
    run_until_idle(one, other, reader)
    assert panes(reader) == [(9999, "a", 1)]  # 5000 is late, and the pane of 12000 is open
    assert holder(reader).startswith("waits for stream Rows of other")
    written(tmp_path / "other", "22000 b 32")
    run_until_idle(one, other, reader)
    assert panes(reader) == [(9999, "a", 1), (19999, "a", 2), (19999, "b", 16)]


def test_an_exporter_without_event_time_holds_the_watermark_and_status_names_it(tmp_path: Path):
    one = exporting(tmp_path, "one", "1000 a 1", "21000 a 2")
    other = exporting(tmp_path, "other", "1000 b 1", timed=False)
    reader = deployed(tmp_path, importing())
    run_until_idle(one, other, reader)
    assert panes(reader) == []
    assert holder(reader) == "waits for stream Rows of other, which has no event time"
    written(tmp_path / "other", "end")
    run_until_idle(one, other, reader)
    assert panes(reader) == [(9999, "a", 1), (9999, "b", 1)]


def test_an_import_to_which_nothing_is_connected_says_so(tmp_path: Path):
    reader = deployed(tmp_path, importing())
    run_until_idle(reader)
    assert holder(reader) == "no exported stream is connected to In"


@pytest.mark.parametrize(
    ("taken", "wanted"),
    [
        ({"attribute": "n"}, "n (bigint, Milliseconds)"),
        ({**MADE, "resolution": "Microseconds"}, "at (bigint, Microseconds)"),
    ],
)
def test_an_import_of_another_event_time_is_not_connected_and_status_says_why(
    tmp_path: Path, taken: dict[str, Any], wanted: str
):
    writer = exporting(tmp_path, "writer", "1000 a 1", "11000 a 2")
    window = {**PANES, "output": {**PANES["output"], "at": "Max(at)", "n": "paneTime()"}} if taken != MADE else PANES
    graph = reading(taken)
    graph[1]["parameters"] = window
    reader = deployed(tmp_path, application("reader", *graph))
    run_until_idle(writer, reader)
    (connection,) = read_status(reader.catalog, "reader").imports[0].connections
    assert connection.problem == f"its event time is at (bigint, Milliseconds), the Import takes {wanted}"
    assert panes(reader) == []


@pytest.mark.parametrize("consistent", [True, False])
def test_a_reset_of_the_importer_changes_no_pane(tmp_path: Path, consistent: bool):
    rows = [f"{1000 * i} {'ab'[i % 2]} {i}" for i in range(40)]
    writer = exporting(tmp_path, "writer", *rows, "end")
    graph = reading()
    if consistent:
        graph[1:1] = [through("Met", "Meeting", "In", schema="Met", annotations=PERIODIC)]
        graph[2]["inputs"] = ["Met"]
    reader = deployed(tmp_path, application("reader", *graph))
    for turn in range(6):
        for local in (writer, reader):
            if turn % 2:
                local.trigger()
            for program in local.programs:
                local.step(program)
        reset_unit(reader.catalog, "reader", reader.units[0], force=True)
    run_until_idle(writer, reader)
    assert panes(reader) == sorted(
        (10_000 * pane + 9_999, key, sum(i for i in range(10 * pane, 10 * pane + 10) if "ab"[i % 2] == key))
        for pane in range(4)
        for key in "ab"
    )


@pytest.mark.parametrize("visibility", ["read_committed", "read_uncommitted"])
def test_a_redeploy_of_the_importer_keeps_open_panes_and_what_its_exporters_have_reached(
    tmp_path: Path, visibility: str
):
    parameters = {"properties": {"kind": "rows"}, "visibility": visibility}
    one = exporting(tmp_path, "one", "1000 a 1", "11000 a 2", **parameters)
    other = exporting(tmp_path, "other", "3000 b 4", "12000 b 8", "end", **parameters)
    reader = deployed(tmp_path, importing(fusion="manual", pes=1))
    run_until_idle(one, other, reader)
    redeploy(reader, importing(fusion="manual", pes=2))
    written(tmp_path / "one", "19999 a 16")
    run_until_idle(one, other, reader)
    assert panes(reader) == [(9999, "a", 1), (9999, "b", 4)]
    written(tmp_path / "one", "20000 a 32")
    run_until_idle(one, other, reader)
    assert panes(reader) == [(9999, "a", 1), (9999, "b", 4), (19999, "a", 18), (19999, "b", 8)]


def test_an_exporter_that_is_idle_holds_up_nothing_after_a_redeploy_of_the_importer(
    tmp_path: Path, stepped: SteppedClock
):
    source = lines("Rows", written(tmp_path / "idle", "1000 a 1"), idleAfter=2.0)
    idle = deployed(tmp_path, application("idle", source, export("Rows", properties={"kind": "rows"})))
    busy = exporting(tmp_path, "busy", "2000 b 4")
    reader = deployed(tmp_path, importing(fusion="manual", pes=1))
    for _ in range(8):
        stepped.now += 0.5
        run_until_idle(idle, busy, reader)
    redeploy(reader, importing(fusion="manual", pes=2))
    written(tmp_path / "busy", "11000 b 8")
    run_until_idle(busy, reader)
    assert panes(reader) == [(9999, "a", 1), (9999, "b", 4)]


def test_an_exporter_whose_redeploy_changes_its_event_time_is_read_to_there_and_then_refused(tmp_path: Path):
    writer = exporting(tmp_path, "writer", "1000 a 1", "11000 a 2")
    reader = deployed(tmp_path, importing())
    run_until_idle(writer)
    source = lines("Rows", tmp_path / "writer")
    source["annotations"] = PERIODIC | {"eventTime": {"eventTimeAttribute": "at", "resolution": "Microseconds"}}
    again = application("writer", source, export("Rows", properties={"kind": "rows"}))
    redeploy(writer, again)
    written(tmp_path / "writer", "21000 a 4")
    run_until_idle(writer, reader)
    assert panes(reader) == [(9999, "a", 1)]
    problems = [each.problem for each in read_status(reader.catalog, "reader").imports[0].connections]
    assert "its event time is at (bigint, Microseconds), the Import takes at (bigint, Milliseconds)" in problems


def test_each_channel_of_an_importing_operator_takes_the_watermarks(tmp_path: Path):
    writer = exporting(tmp_path, "writer", "1000 a 1", "2000 b 2", "11000 a 4", "end")
    inner = reading()[:2]
    both = {"name": "Both", "operator": "Two", "outputs": ["Panes"], "annotations": {"parallel": {"width": 2}}}
    composites = {"Two": {"outputs": ["Panes"], "graph": inner}}
    reader = deployed(tmp_path, application("reader", both, sink("Out", "Panes"), composites=composites))
    run_until_idle(writer, reader)
    twice = [(9999, "a", 1), (9999, "b", 2), (19999, "a", 4)]
    assert panes(reader) == sorted([*twice, *twice])


def test_a_stream_of_the_importer_and_an_imported_one_meet_in_one_operator(tmp_path: Path):
    writer = exporting(tmp_path, "writer", "1000 b 1")
    own = lines("Own", written(tmp_path / "own", "2000 a 2", "12000 a 4"))
    del own["annotations"]["consistent"]
    graph = reading()
    graph[1]["inputs"] = [["Own", "In"]]
    reader = deployed(tmp_path, application("reader", own, *graph))
    run_until_idle(writer, reader)
    assert panes(reader) == []
    assert holder(reader).startswith("waits for stream Rows of writer")
    written(tmp_path / "writer", "10000 b 8")
    run_until_idle(writer, reader)
    assert panes(reader) == [(9999, "a", 2), (9999, "b", 1)]


def test_the_stream_of_an_import_without_watermarks_of_its_own_passes_them_on(tmp_path: Path):
    writer = exporting(tmp_path, "writer", "1000 a 1", "11000 a 2", "end")
    graph = reading()
    graph[1:1] = [through("Some", "Filter", "In", parameters={"filter": "n < 2"})]
    graph[2]["inputs"] = ["Some"]
    met = [through("Met", "Meeting", "Some", schema="Met"), sink("Kept", "Met")]
    reader = deployed(tmp_path, application("reader", *graph, *met, fusion="manual", pes=3))
    run_until_idle(writer, reader)
    assert panes(reader) == [(9999, "a", 1)]
    kept = [row["watermark"] for path in reader.published("Kept") for row in pq.read_table(path).to_pylist()]
    assert kept == [-1, END]


def test_a_sink_of_imported_streams_is_complete_up_to_the_least_of_their_watermarks(tmp_path: Path):
    one = exporting(tmp_path, "one", "1000 a 1", "21000 a 2")
    other = exporting(tmp_path, "other", "2000 b 4")
    reader = deployed(tmp_path, application("reader", reading()[0], sink("Out", "In")))
    seen: list[int | None] = []
    for more in ((), ("15000 b 8",), ("end",)):
        written(tmp_path / "other", *more)
        run_until_idle(one, other, reader)
        (out,) = read_status(reader.catalog, "reader").sinks
        seen.append(out.watermark)
    assert seen == [2_000_000, 15_000_000, 21_000_000]
    forget(other.home, deployable(other.compilation))
    written(tmp_path / "one", "22000 a 1")
    run_until_idle(one, reader)
    assert read_status(reader.catalog, "reader").sinks[0].watermark == 22_000_000
