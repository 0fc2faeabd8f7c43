"""Describes how the operators and channels of a PE are spread over the tasks of its query."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.compiler.pe_program import PeProgram, Task

_REPLICA = re.compile(r"(.*)\[\d+\]")
_NUMBERS = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Share:
    """The numbers of operators or channels that the tasks of a level have."""

    total: int
    least: int
    """The least number of operators or channels in one task, among the tasks that have any."""
    most: int


@dataclass(frozen=True, slots=True)
class LevelSpread:
    """One level of a PE's query. Its tasks run in parallel, before the tasks of the next level."""

    tasks: int
    operators: Share
    """The operators in the tasks; a stateless operator may be in several tasks."""
    channels: dict[str, Share] = field(default_factory=dict[str, Share])
    """Parallel region -> its channels in the tasks; a nested region counts once per channel of the regions around it.
    """

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> LevelSpread:
        """Return the level from its form in the catalog, which `dataclasses.asdict` has made."""
        channels = {region: Share(**share) for region, share in document["channels"].items()}
        return cls(document["tasks"], Share(**document["operators"]), channels)


def spread(program: PeProgram) -> tuple[LevelSpread, ...]:
    """Return the levels of a PE's query, without tasks that only forward tuples."""
    return tuple(_level(program, [task for task in level if not task.forwards]) for level in program.levels)


def _level(program: PeProgram, tasks: list[Task]) -> LevelSpread:
    by_region: dict[str, list[set[str]]] = defaultdict(list)
    for task in tasks:
        channels: dict[str, set[str]] = defaultdict(set)
        for operator in task.operators:
            if replica := _REPLICA.match(program.operators[operator].name):
                channels[_NUMBERS.sub("", replica[1])].add(replica[0])
        for region, mine in channels.items():
            by_region[region].append(mine)
    shares = {
        region: _share([len(mine) for mine in parts], set[str]().union(*parts)) for region, parts in by_region.items()
    }
    run = [set(task.operators) for task in tasks]
    return LevelSpread(len(tasks), _share([len(part) for part in run], set[int]().union(*run)), shares)


def _share(counts: list[int], all_: set[Any]) -> Share:
    return Share(len(all_), min(counts, default=0), max(counts, default=0))
