"""Assignments whose loads are updated with every move of a piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streams_orchestration.compiler.decoupling.contraction import Fan


@dataclass(frozen=True, slots=True)
class Pieces:
    """Classes, or clusters of them, with their loads and the sends between them."""

    weights: Sequence[float]
    pins: Sequence[int]
    """The machine on which each class must be; -1 if it may be on any."""
    fans: Sequence[Fan]
    machines: int
    exact: bool
    """True if a fan costs one send for each destination, False if it costs one send in total (rule Q5)."""


class TrackedAssignment:
    """The machines of pieces and their loads.

    The time of a move grows linearly with the number of sends of the piece.
    """

    def __init__(self, pieces: Pieces, home: Sequence[int]) -> None:
        self.pieces = pieces
        self.home = list(home)
        self.loads = [0.0] * pieces.machines
        self._out: list[list[int]] = [[] for _ in pieces.weights]
        """Piece -> the sends (fans) that begin at it."""
        self._in: list[list[int]] = [[] for _ in pieces.weights]
        self._arrivals: list[dict[int, int]] = []
        """Send -> the number of its targets on each machine."""
        for weight, machine in zip(pieces.weights, home, strict=True):
            self.loads[machine] += weight
        for number, fan in enumerate(pieces.fans):
            self._out[fan.source].append(number)
            arrivals: dict[int, int] = {}
            for target in fan.targets:
                self._in[target].append(number)
                arrivals[home[target]] = arrivals.get(home[target], 0) + 1
            self._arrivals.append(arrivals)
            here = home[fan.source]
            away = [machine for machine in arrivals if machine != here]
            self.loads[here] += fan.send * self._sends(len(away))
            for machine in away:
                self.loads[machine] += fan.receive
        self.neighbours = [
            [
                *(target for fan in self._out[piece] for target in pieces.fans[fan].targets),
                *(pieces.fans[fan].source for fan in self._in[piece]),
            ]
            for piece in range(len(pieces.weights))
        ]

    def _sends(self, destinations: int) -> int:
        return destinations if self.pieces.exact else min(destinations, 1)

    def changes(self, piece: int, there: int) -> dict[int, float]:
        """Return the changes of the machines' loads if a piece moved to another machine; only machines that change."""
        here = self.home[piece]
        fans, exact = self.pieces.fans, self.pieces.exact
        weight = self.pieces.weights[piece]
        change = {here: -weight, there: weight}
        for number in self._out[piece]:
            fan, arrivals = fans[number], self._arrivals[number]
            before, after = len(arrivals), len(arrivals)
            if here in arrivals:
                before -= 1
                change[here] += fan.receive
            if there in arrivals:
                after -= 1
                change[there] -= fan.receive
            if not exact:
                before, after = min(before, 1), min(after, 1)
            change[here] -= fan.send * before
            change[there] += fan.send * after
        for number in self._in[piece]:
            fan, arrivals = fans[number], self._arrivals[number]
            sender = self.home[fan.source]
            sends = before = len(arrivals) - (sender in arrivals)
            if arrivals[here] == 1 and here != sender:
                sends -= 1
                change[here] -= fan.receive
            if there not in arrivals and there != sender:
                sends += 1
                change[there] += fan.receive
            if not exact:
                sends, before = min(sends, 1), min(before, 1)
            if sends != before:
                change[sender] = change.get(sender, 0.0) + fan.send * (sends - before)
        return change

    def move(self, piece: int, there: int, changes: dict[int, float]) -> None:
        """Move a piece to another machine; `changes` is the result of the method `changes` for that move."""
        here = self.home[piece]
        for machine, change in changes.items():
            self.loads[machine] += change
        self.home[piece] = there
        for number in self._in[piece]:
            arrivals = self._arrivals[number]
            arrivals[here] -= 1
            if not arrivals[here]:
                del arrivals[here]
            arrivals[there] = arrivals.get(there, 0) + 1
