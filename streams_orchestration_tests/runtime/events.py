"""The events of an application whose PEs are stepped by hand: steps, triggers, garbage collection, failures."""

from __future__ import annotations

from hypothesis import strategies as st

from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.runtime.local import LocalApplication

Events = list[tuple[str, int]]

EVENT = st.tuples(st.sampled_from(["step"] * 6 + ["trigger"] * 2 + ["killed", "reset", "collect"]), st.integers(0, 99))
EVENTS = st.lists(EVENT, max_size=12)
"""Between two redeploys."""


def happens(local: LocalApplication, event: str, number: int) -> None:
    """Let one event happen; the sizes of batches differ, so that a replay need not repeat them."""
    local.source_limit = 2 + number % 9
    program = local.programs[number % len(local.programs)]
    match event:
        case "step":
            local.step(program)
        case "trigger":
            local.trigger()
        case "collect":
            collect_garbage(local.catalog, local.name, local.programs)
        case "killed":
            plan = local.plan(program)
            if plan is not None:
                answers = local.execute(program, plan)
                if number % 2:
                    commit_batch(local.catalog, program, plan, answers, 0.0)
            reset_unit(local.catalog, local.name, program.unit, force=True)
        case _:
            reset_unit(local.catalog, local.name, sorted(local.units)[number % len(local.units)], force=True)
