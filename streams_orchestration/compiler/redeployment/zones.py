"""The expressions that have another value after a redeploy because the application's time zone is another one."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.compiler.implementations import load_operator
from streams_orchestration.compiler.redeployment.meaning import expressions_of
from streams_orchestration.compiler.redeployment.outcome import ZoneChange
from streams_orchestration.compiler.redeployment.plans import Operators
from streams_orchestration.expressions.times import expected_zone
from streams_orchestration.operators.expressions import condition_of


def zone_change(old: Operators, new: Operators) -> ZoneChange | None:
    """Return what another time zone changes in the expressions of the new plan; None if the zone stays."""
    before, after = old.logical.time_zone, new.logical.time_zone
    if before == after:
        return None
    depending: dict[str, None] = {}
    for identity, names in new.by_identity.items():
        program, model = new.programs[next(iter(names.values()))], new.model(identity)
        former = replace(program, time_zone=before)
        kind = load_operator(model)
        if program.query or expressions_of(former, former, kind) != expressions_of(program, program, kind):
            depending[model.name] = None
    for link in new.compilation.physical.imports:
        text = link.parameters.get("filter")
        texts = {_canonical(str(text), link.schema or "", zone) for zone in (before, after)} if text is not None else ()
        if len(texts) > 1:
            depending[link.name] = None
    return ZoneChange(before, after, tuple(depending))


def _canonical(text: str, ddl: str, zone: str) -> str:
    return condition_of(text, ddl, "filter", expected_zone(zone)).canonical()
