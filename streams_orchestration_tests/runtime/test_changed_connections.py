"""Imports and Exports that operators change at run time: a change is part of the batch that makes it."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.diagnostics import ApplicationError, errors_of
from streams_orchestration.model.spl_options import SplOptions, spl_options
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration.runtime.redeployment.trial_supervision import revert_open
from streams_orchestration.runtime.savepoints.manifest import SavepointError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.exporting import heard, run_until_idle
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import adopt, redeploy
from streams_orchestration_tests.runtime.saved import take

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 24
OFFERING = """composite Main {
  graph
    stream<int64 n> Src = Beacon() { param iterations : %d; output Src : n = (int64) IterationCount(); }
    stream<int64 n> Made = Custom(Src) {
      logic state : mutable int64 count = 0l;
            onTuple Src : {
              if (count++ %% 5l == 4l) setOutputPortExportProperties({turn = count / 5l %% 2l}, 0u);
              submit(Src, Made);
            }
    }
    () as Out = Export(Made) { param properties : {turn = 0l}; }
}"""
"""The stream is offered in turns: first with the turn 0, after each five tuples with the other one."""
TAKING = """composite Main {
  graph
    stream<int64 n> In = Import() { param subscription : turn == %dl; }
    () as Kept = FileSink(In) { param file : "kept.csv"; closeMode : count; tuplesPerFile : 1u; }
}"""
CHANGING = """composite Main {
  graph
    stream<int64 n> In = Import() { param subscription : kind == "none"; filter : n > 100l; }
    stream<int64 n> Ticks = Beacon() { param iterations : 8; output Ticks : n = (int64) IterationCount(); }
    stream<int64 n, int32 code, rstring now> Told = Custom(Ticks; In) {
      logic
        onTuple Ticks : {
          mutable int32 code = -1;
          mutable int32 error = 0;
          if (n == 1l) code = setInputPortImportSubscription("kind == \\"rows\\"", 1u);
          if (n == 2l) code = setInputPortImportFilterExpression("n % 2 == 1 && !(n < 5)", 1u);
          if (n == 3l) code = setInputPortImportFilterExpression("other > 5", 1u);
          if (n == 4l) code = setInputPortImportSubscription("kind ==", 1u);
          if (n == 5l) code = setInputPortImportSubscription("kind == \\"rows\\"", 0u);
          if (n == 6l) code = setOutputPortExportProperties({kind = "x"}, 0u);
          rstring subscription = getInputPortImportSubscription(1u, error);
          submit({n = n, code = code, now = subscription + "; " + getInputPortImportFilterExpression(1u, error)}, Told);
        }
        onTuple In : submit({n = n, code = 9, now = ""}, Told);
    }
    () as Kept = FileSink(Told) { param file : "told.csv"; closeMode : count; tuplesPerFile : 1u; }
}"""
LEAVING = """composite Main {
  graph
    stream<int64 n> In = Import() { param subscription : kind == "rows"; }
    stream<int64 n> Ticks = Beacon() { param iterations : 20; }
    () as Ticked = Custom(Ticks) { logic onTuple Ticks : { } }
    stream<int64 n> Left = Custom(In) {
      logic onTuple In : { if (n == 3l) setInputPortImportSubscription("kind == \\"none\\"", 0u); submit(In, Left); }
    }
    () as Kept = FileSink(Left) { param file : "kept.csv"; closeMode : count; tuplesPerFile : 1u; }
}"""
SLOW = TAKING.replace("turn == %dl", 'kind == "rows"')
ROWS = """composite Main {
  graph
    stream<int64 n> Src = Beacon() { param iterations : %d; output Src : n = (int64) IterationCount(); }
    () as Out = Export(Src) { param properties : {kind = "rows"}; }
}"""


@functools.cache
def compiled(text: str, name: str) -> PlannedCompilation:
    """Compile an application in SPL, with as few PEs as the automatic fusion makes."""
    with tempfile.TemporaryDirectory() as directory:
        spec = Path(directory) / "Main.spl"
        spec.write_text(text, encoding="utf-8")
        spl_options.set(SplOptions())
        return compile_spec(spec, Options(name=name))


def started(home: Path, text: str, name: str) -> LocalApplication:
    application = LocalApplication(Home(home), compiled(text, name), 1)
    heard(application)
    return application


def lines(application: LocalApplication, sink: str) -> list[str]:
    return [line for path in application.published(sink) for line in path.read_text().splitlines()]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["step"] * 5 + ["reset", "collect", "commit late", "restart"]),
        st.integers(0, 2),
        st.integers(1, 4),
    ),
    max_size=60,
)


@given(events=EVENTS)
@examples(8)
def test_a_stream_that_is_offered_in_turns_is_taken_once_whatever_fails(events: list[tuple[str, int, int]]):
    with tempfile.TemporaryDirectory() as directory:
        texts = {"offering": OFFERING % COUNT, "zero": TAKING % 0, "one": TAKING % 1}
        names = ["zero", "one", "offering"]
        apps = {name: started(Path(directory), texts[name], name) for name in names}
        for action, side, number in events:
            name = names[side]
            application = apps[name]
            application.source_limit = number
            (program,) = application.programs
            match action:
                case "step":
                    application.step(program)
                case "reset":
                    reset_unit(application.catalog, name, program.unit, force=True)
                case "collect":
                    collect_garbage(application.catalog, name, application.programs)
                case "commit late":
                    if (plan := application.plan(program)) is not None:
                        commit_batch(application.catalog, program, plan, application.execute(program, plan), 0.0)
                case _:
                    cancel_application(application.catalog, name)
                    apps[name] = started(Path(directory), texts[name], name)
        run_until_idle(*apps.values())
        taken = {name: [int(line) for line in lines(apps[name], "kept.csv")] for name in ("zero", "one")}
        assert sorted(taken["zero"] + taken["one"]) == list(range(COUNT))
        assert all(numbers == sorted(numbers) for numbers in taken.values())


def test_each_stream_goes_where_its_properties_lead_from_the_end_of_the_batch_that_changes_them(tmp_path: Path):
    zero, one = (started(tmp_path, TAKING % turn, name) for turn, name in ((0, "zero"), (1, "one")))
    offering = started(tmp_path, OFFERING % COUNT, "offering")
    run_until_idle(offering, zero, one)
    assert [int(line) for line in lines(zero, "kept.csv")] == [n for n in range(COUNT) if (n // 5) % 2 == 0]
    assert [int(line) for line in lines(one, "kept.csv")] == [n for n in range(COUNT) if (n // 5) % 2 == 1]


def test_a_program_changes_its_subscription_and_filter_and_is_told_what_is_wrong(tmp_path: Path):
    changing = started(tmp_path, CHANGING, "changing")
    while changing.step(changing.programs[0]):
        pass
    rows = started(tmp_path, ROWS % 12, "rows")
    run_until_idle(rows, changing)
    told = [line.split(",", 2) for line in lines(changing, "told.csv")]
    assert [int(code) for _, code, _ in told][:8] == [-1, 0, 0, 2, 2, 1, 1, -1]
    none, subscribed, filtered = '"kind == \\"none\\"; n > 100"', '"kind == \\"rows\\"; "', told[2][2]
    assert [now for _, _, now in told][:8] == [none, subscribed, *[filtered] * 6]
    assert "n % 2 = 1" in filtered
    assert [int(n) for n, code, _ in told if code == "9"] == [5, 7, 9, 11]


def test_changes_stay_when_the_application_goes_on(tmp_path: Path):
    changing = started(tmp_path, CHANGING, "changing")
    while changing.step(changing.programs[0]):
        pass
    cancel_application(changing.catalog, "changing")
    changing = started(tmp_path, CHANGING, "changing")
    run_until_idle(started(tmp_path, ROWS % 12, "rows"), changing)
    assert [int(line.split(",")[0]) for line in lines(changing, "told.csv") if line.split(",")[1] == "9"] == [
        5,
        7,
        9,
        11,
    ]


def test_an_application_that_changes_its_links_is_not_redeployed(tmp_path: Path):
    changing = started(tmp_path, CHANGING, "changing")
    redeployment = preview_redeploy(
        changing.catalog, deployable(compiled(CHANGING.replace("n > 100l", "n > 99l"), "changing"))
    )
    assert not redeployment.acceptable
    assert {each.reason for each in redeployment.operators} == {
        "Told may change Imports and Exports while the application runs, so its plan must stay"
    }


def test_an_application_that_changes_its_links_has_no_savepoint(tmp_path: Path):
    changing = started(tmp_path, CHANGING, "changing")
    with pytest.raises(SavepointError, match="no savepoint can be taken, since Told may change Imports and Exports"):
        take(changing)


def test_an_import_that_its_operator_ends_stays_ended_when_the_exporter_takes_its_plan_back(tmp_path: Path):
    rows, leaving = started(tmp_path, ROWS % 30, "rows"), started(tmp_path, LEAVING, "leaving")
    slow = started(tmp_path, SLOW, "slow")  # for it the exported tuples are kept
    for _ in range(5):
        rows.step(rows.programs[0])
    redeploy(rows, compiled(ROWS % 40, "rows"))
    leaving.step(leaving.programs[0])
    collect_garbage(rows.catalog, rows.name, rows.programs)
    leaving.step(leaving.programs[0])  # its position has the connection no more
    assert revert_open(rows.catalog, rows.name, "for the test")
    adopt(rows)
    run_until_idle(rows, leaving, slow)
    assert [int(line) for line in lines(slow, "kept.csv")] == list(range(30))
    assert [int(line) for line in lines(leaving, "kept.csv")] == [0, 1, 2, 3, 4]


REGION = """composite Main {
  graph
    @consistent(trigger = periodic, period = 1.0)
    stream<int64 n> Src = Beacon() { param iterations : 3; %s }
    %s stream<int64 n> Made = Custom(Src) {
      logic onTuple Src : { setOutputPortExportProperties({kind = "b"}, 0u); submit(Src, Made); }
      %s
    }
    @autonomous
    () as Out = Export(Made) { param properties : {kind = "a"}; }
}"""
TOGETHER = 'config placement : partitionColocation("one");'


@pytest.mark.parametrize(
    ("parts", "code", "words"),
    [
        (("", "", ""), "SO0733", "setOutputPortExportProperties cannot be called in a consistent region"),
        ((TOGETHER, "@autonomous", TOGETHER), "SO5009", "operator Made: it changes Imports or Exports while it runs"),
    ],
)
def test_a_change_that_a_reset_could_not_take_back_is_refused(parts: tuple[str, str, str], code: str, words: str):
    with pytest.raises(ApplicationError) as error:
        deployable(compiled(REGION % parts, "region"))
    assert [(each.code, words in each.message) for each in errors_of(error.value.diagnostics)] == [(code, True)]
