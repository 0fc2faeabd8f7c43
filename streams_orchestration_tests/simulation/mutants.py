"""Mutants: faults put into functions of the product, each of which the simulation has to find."""

from __future__ import annotations

import contextlib
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from streams_orchestration.runtime.deployment import reset
from streams_orchestration.runtime.queries import commits
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.sinks import publishing, retraction
from streams_orchestration.runtime.units import controller, garbage, roll_back


@dataclass(frozen=True)
class Mutant:
    """A function, a part of its source, and what stands in its place."""

    function: Any
    part: str
    other: str

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let the function have its fault within a block, wherever it was imported."""
        function: FunctionType = self.function
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.part) == 1, f"{function.__qualname__} has no single {self.part!r}"
        names: dict[str, Any] = dict(function.__globals__)
        exec(
            compile(
                f"from __future__ import annotations\n{source.replace(self.part, self.other)}",
                function.__code__.co_filename,
                "exec",
            ),
            names,
        )
        before = function.__code__
        function.__code__ = names[function.__name__].__code__
        try:
            yield
        finally:
            function.__code__ = before


MUTANTS: dict[str, Mutant] = {
    "no fence": Mutant(
        commits._fence, "if row is None or current != wanted:", "if row is None or row.batch + 1 != plan.batch:"
    ),
    "commits while a unit is unhealthy": Mutant(
        commits._fence, 'if row.unit_state in ("UNHEALTHY", LIMIT):', "if row.unit_state == LIMIT:"
    ),
    "a commit that was made is not known again": Mutant(commits._is_made, "return bool(token) and", "return False and"),
    "the last commit of an epoch tells nobody": Mutant(
        commits.commit_batch, "news = closes and row.unclosed <= 1", "news = False"
    ),
    "results are forgotten in an outage": Mutant(
        Planner._finish,
        "    except CatalogUnavailableError:\n        raise\n",
        "    except CatalogUnavailableError:\n        self._planned = self._done = None\n        raise\n",
    ),
    "numbers of segments are used twice": Mutant(
        roll_back._at_cut,
        'return values | {"position": values["position"] | {"outputs": pe.position["outputs"]}}',
        "return values",
    ),
    "states behind the cut are kept": Mutant(
        roll_back.roll_back, "garbage = drop_states_after(connection, application, name, completed)", "garbage = []"
    ),
    "nothing is retracted": Mutant(
        roll_back.roll_back, "garbage += mark_retracted(connection, application, name, completed)", "pass"
    ),
    "commits behind the cut are kept": Mutant(
        roll_back.roll_back, "connection.execute(delete(c).where(after_cut(c, application, name, completed)))", "pass"
    ),
    "a reset begins though a host is missing": Mutant(reset.begin_reset, "healthy=health.up", "healthy=True"),
    "a reset keeps the generation": Mutant(controller.advance, "generation += 1", "generation += 0"),
    "a file that was not moved counts as published": Mutant(
        publishing._publish, "_link(catalog, application, row)", "pass"
    ),
    "what a reset took back stays": Mutant(
        retraction.mark_retracted,
        "connection.execute(update(f).where(after_cut(f, application, unit, epoch)).values(retracted=True))",
        "pass",
    ),
    "garbage is one batch behind the cut": Mutant(
        garbage._collect_unit,
        "cuts = {pe: batch for pe, batch, _ in _cuts(connection, application, members)}",
        "cuts = {pe: batch + 1 for pe, batch, _ in _cuts(connection, application, members)}",
    ),
}
