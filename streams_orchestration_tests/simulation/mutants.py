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
from streams_orchestration.runtime.hosts import orphans
from streams_orchestration.runtime.hosts.presence import Presence
from streams_orchestration.runtime.queries import commits
from streams_orchestration.runtime.queries.planner import Planner
from streams_orchestration.runtime.sinks import publishing, retraction
from streams_orchestration.runtime.units import controller, garbage, region_machine, roll_back, watch


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
    "a commit of another query counts as one's own": Mutant(
        commits._is_made,
        "return bool(token) and connection.scalar(mine) == token",
        "return connection.scalar(mine) is not None",
    ),
    "the last commit of an epoch tells nobody": Mutant(
        commits.commit_batch, "news = closes and row.unclosed <= 1", "news = False"
    ),
    "results are forgotten in an outage": Mutant(
        Planner._finish,
        "    except CatalogUnavailableError:\n        raise\n",
        "    except CatalogUnavailableError:\n        self._planned = self._done = None\n        raise\n",
    ),
    "results are kept behind a commit that was refused": Mutant(
        Planner._finish,
        '        log.info("%s", error)\n        self._planned = self._done = None\n        return\n',
        '        log.info("%s", error)\n        return\n',
    ),
    "a change between the look and the waiting is missed": Mutant(
        Planner._next, "changes.wait(mark, wake_at - began)", "changes.wait(changes.mark(), wake_at - began)"
    ),
    "files are removed before the commit": Mutant(
        watch.observe,
        "        remove_files(catalog.store, garbage)\n",
        "            remove_files(catalog.store, garbage)\n",
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
    "a PE that has not begun anew counts as reset": Mutant(
        region_machine._restored, "if not settings.members <= record.done:", "if False:"
    ),
    "an epoch is complete with its first PE": Mutant(
        region_machine._stored, "if not settings.members <= record.done:", "if False:"
    ),
    "a reset repeats the number of its epoch": Mutant(
        controller.advance,
        "roll_back(connection, unit, record.current + 1)",
        "roll_back(connection, unit, unit.completed_epoch)",
    ),
    "a replaced host goes on": Mutant(Presence.row, "if row.incarnation != self.incarnation:", "if False:"),
    "a replaced host writes heartbeats": Mutant(
        Presence._update, "h.c.id == self.host, h.c.incarnation == self.incarnation)", "h.c.id == self.host)"
    ),
    "hosts are killed as orphans though they are wanted": Mutant(
        orphans.stop_orphans,
        'elif host.pid is None and host.state == "STARTING":',
        "elif False:",
    ),
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
