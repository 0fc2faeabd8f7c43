"""Rows that the trial of a redeploy keeps: those of the plan before, which may be brought back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class PlanBefore:
    """The rows of the units that a redeploy changes, and those of their application."""

    rows: Mapping[str, list[Row]]
    """Table -> its rows."""
    states: list[Row]
    """Operator, PE and files of what each operator has stored last."""
    formers: Mapping[str, str]
    """Operator of the plan on trial -> its name before."""

    @property
    def files(self) -> list[str]:
        """Paths of the files of all states."""
        return [file["path"] for state in self.states for file in state["files"]]

    @property
    def compilation(self) -> bytes:
        """Return the compilation of the application."""
        return str(self.rows["application"][0]["compilation"]).encode()

    @property
    def committed_at(self) -> dict[str, float]:
        """Unit -> unix seconds of its last commit, where there was one."""
        times: dict[str, float] = {}
        for pe in self.rows["pe"]:
            if pe["committed_at"] is not None:
                times[pe["unit"]] = max(times.get(pe["unit"], 0.0), pe["committed_at"])
        return times

    def dump(self) -> bytes:
        """Return the rows as JSON."""
        return json.dumps([self.rows, self.states, self.formers]).encode()

    @classmethod
    def load(cls, content: bytes) -> PlanBefore:
        """Read the JSON that `dump` wrote."""
        return cls(*json.loads(content))
