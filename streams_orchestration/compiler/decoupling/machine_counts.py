"""How many machines each group gets when a budget of machines is shared out (rule Q7)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence


def machine_counts(
    loads: Sequence[float], used: Sequence[bool], divisible: Sequence[bool], budget: int, epsilon: float
) -> tuple[int, ...]:
    """The counts with the least largest load a machine plus `epsilon` times their sum; then with the least sum.

    Args:
        loads: of each group.
        used: does anything execute in the group? One that is not used gets no machine, any other at least one.
        divisible: may the group have several machines, each with its part of the load?
        budget: machines in all, at least as many as there are used groups.
        epsilon: weight of the sum.
    """
    least = [int(each) for each in used]
    shared = [number for number, each in enumerate(used) if each and divisible[number] and loads[number] > 0]
    spare = budget - sum(least)
    if spare <= 0 or not shared:
        return tuple(least)
    floor = max((loads[number] for number in range(len(loads)) if number not in shared), default=0.0)
    peaks = {max(floor, loads[number] / count) for number in shared for count in range(1, spare + 2)}
    best: tuple[float, float, tuple[int, ...]] | None = None
    for peak in sorted(peaks):
        counts = list(least)
        for number in shared:
            counts[number] = max(1, math.ceil(loads[number] / peak - 1e-12)) if peak > 0 else 1
        if sum(counts) > budget:
            continue
        _spend(counts, loads, shared, budget - sum(counts))
        each = [load / count if count else 0.0 for load, count in zip(loads, counts, strict=True)]
        key = max(each) + epsilon * math.fsum(each), math.fsum(each), tuple(counts)
        if best is None or key < best:
            best = key
        if not epsilon:
            break
    return best[2] if best is not None else tuple(least)


def _spend(counts: list[int], loads: Sequence[float], shared: Sequence[int], spare: int) -> None:
    """Give machines that are left to where each lowers the sum most."""

    def gain(number: int) -> float:
        return loads[number] / counts[number] - loads[number] / (counts[number] + 1)

    queue = [(-gain(number), number) for number in shared]
    heapq.heapify(queue)
    for _ in range(spare):
        _, number = heapq.heappop(queue)
        counts[number] += 1
        heapq.heappush(queue, (-gain(number), number))
