"""Applications of SPL that end themselves with abort, and are reset."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.stepping import StepError, SteppedApplication
from streams_orchestration.runtime.storage.home import Home

APPLICATION = """
composite Main {
  graph
    @PLACE@
    stream<int32 n, uint32 sum> Src = Beacon() {
      param iterations : 40;
      output Src : n = (int32) IterationCount();
    }
    stream<Src> Sums = Custom(Src) {
      logic state : mutable uint32 total = 0u;
            onTuple Src : {
              if ((n == 15 && getRelaunchCount() == 0u) || (n == 31 && getRelaunchCount() == 1u)) abort();
              total += (uint32) n;
              submit({n = n, sum = total}, Sums);
            }
    }
    () as Out = FileSink(Sums) { param file : "sums.csv"; }
@JOBS@
}
"""
PLACES = {
    "in a region": ("@consistent(trigger = periodic, period = 1.0)", "    () as Jobs = JobControlPlane() { }"),
    "in no region": ("", ""),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.usefixtures("no_hosts")
def test_a_program_that_aborts_by_its_relaunch_count_goes_on_from_its_cut(place: str, tmp_path: Path):
    annotation, jobs = PLACES[place]
    spec = tmp_path / "Main.spl"
    spec.write_text(APPLICATION.replace("@PLACE@", annotation).replace("@JOBS@", jobs))
    stepped = SteppedApplication(Home(tmp_path / "home"), compile_spec(spec, Options(fusion="legacy")), 4)
    unit = next(each.unit for each in stepped.programs if "Sums" in {of.name for of in each.operators.values()})
    for _ in range(2):
        with pytest.raises(StepError, match="abort"):
            stepped.run()
        reset_unit(stepped.catalog, stepped.name, unit)
        stepped.report_running()
    stepped.run()
    lines = [line for file in stepped.published("sums.csv") for line in file.read_text().splitlines()]
    assert lines == [f"{n},{n * (n + 1) // 2}" for n in range(40)]


@pytest.mark.parametrize(("statement", "permanent"), [("abort()", False), ("assert(false)", True)])
def test_only_a_program_that_aborts_may_go_another_way_after_a_reset(statement: str, permanent: bool, tmp_path: Path):
    spec = tmp_path / "Main.spl"
    spec.write_text(
        "composite Main { graph stream<int32 n> Src = Beacon() { param iterations : 1; }\n"
        f"() as Ends = Custom(Src) {{ logic onTuple Src : {statement}; }} }}"
    )
    stepped = SteppedApplication(Home(tmp_path / "home"), compile_spec(spec, Options(fusion="manual")), 4)
    [program] = stepped.programs
    plan = stepped.plan(program)
    assert plan is not None
    [result] = stepped.execute(program, plan)
    assert result.failure is not None
    assert (result.failure.nature == "data") is permanent
