"""The catalog rows of the previous plan, which the trial of a redeploy keeps so that the plan can be restored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams_orchestration.runtime.catalog.cause_kinds import CauseKind
from streams_orchestration.runtime.catalog.chains import files_of

Row = dict[str, Any]


@dataclass(frozen=True)
class PreviousPlan:
    """The catalog rows of the previous plan for the units that the redeploy changes, and for the application."""

    rows: Mapping[str, list[Row]]
    """The name of a table -> its rows."""
    states: list[Row]
    """Operator, PE and files of the last state of each operator."""
    formers: Mapping[str, str]
    """The name of an operator in the plan on trial -> its name in the previous plan."""

    @property
    def files(self) -> list[str]:
        """The paths of the files of all states."""
        return sorted(files_of(state["files"] for state in self.states))

    @property
    def compilation(self) -> bytes:
        """The stored compilation of the application, as JSON."""
        return str(self.rows["application"][0]["compilation"]).encode()

    @property
    def committed_at(self) -> dict[str, float]:
        """The unix seconds of the last commit of each unit that has one."""
        times: dict[str, float] = {}
        for pe in self.rows["pe"]:
            if pe["committed_at"] is not None:
                times[pe["unit"]] = max(times.get(pe["unit"], 0.0), pe["committed_at"])
        return times

    def dump(self) -> bytes:
        """Return the kept rows of the previous plan as JSON."""
        return json.dumps([self.rows, self.states, self.formers], default=_text_of_kind).encode()

    @classmethod
    def load(cls, content: bytes) -> PreviousPlan:
        """Read the JSON that `dump` wrote."""
        return cls(*json.loads(content))


def _text_of_kind(value: object) -> str:
    """Return the text of the kind of a cause, the only value of a column that JSON does not have."""
    if isinstance(value, CauseKind):
        return str(value)
    message = f"{value!r} is not a value of a column"
    raise TypeError(message)
