"""Decisions at once for problems of any size: machines are filled one after the other, along the flow."""

from __future__ import annotations

from streams_orchestration.compiler.decoupling.contraction import Contraction


def filled(contraction: Contraction, limit: float, machines: int) -> list[int]:
    """Machines of classes that come as the streams flow, each machine filled up to a limit.

    Nothing is sent back. What does not fit is on the last machine, and so is what is to be apart from others there.

    Args:
        contraction: the problem.
        limit: the most weight of a machine, in the unit of loads.
        machines: how many may be filled.
    """
    order, weights = contraction.along_the_flow(), contraction.weights
    kept: list[set[int]] = [set() for _ in weights]
    for number, members in enumerate(contraction.apart):
        for piece in members:
            kept[piece].add(number)
    home, machine, load = [0] * len(order), 0, 0.0
    claimed: set[int] = set()
    for piece in order:
        full = load + weights[piece] > limit and load > 0
        if (full or claimed & kept[piece]) and machine < machines - 1:
            machine, load, claimed = machine + 1, 0.0, set[int]()
        home[piece], load = machine, load + weights[piece]
        claimed |= kept[piece]
    return home
