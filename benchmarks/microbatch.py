"""The fixed cost of a micro-batch of a stateful PE against micro-batches of bare Spark, on tiny data.

Medians of the durations of triggers, as Spark reports them. The peers, a stateless query and one with
`transformWithState` on RocksDB, run in the session of a host beside the PEs, and in a session with Spark's defaults.
"""

from __future__ import annotations

from statistics import median

from benchmarks.harness import Row, answer_of

ROUNDS = 2


def durations(whose: str, rounds: int = 1) -> dict[str, list[float]]:
    """Run rounds in a process of their own. Return variant -> durations of triggers in seconds."""
    return answer_of("benchmarks.batch_durations", whose, str(rounds))


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of a PE of one level to the peers, and the cost of each further level."""
    rounds = [durations("ours") for _ in range(1 if quick else ROUNDS)]
    rounds.insert(1, durations("defaults"))  # between those that it is compared with
    spark, *hosts = rounds.pop(1), *rounds
    ours = {name: median([each for seconds in hosts for each in seconds[name]]) for name in hosts[0]}
    theirs = {name: median(seconds) for name, seconds in spark.items()}
    what, level = "micro-batch of a stateful PE of one level", ours["1"]
    further = (ours["3"] - level) / 2
    result = []
    for session, peers in (("the same session", ours), ("Spark's defaults", theirs)):
        result += [
            Row(f"{what} / transformWithState, {session}", level, "s", peers["stateful"], 0.6),
            Row(f"{what} / stateless, {session}", level, "s", peers["stateless"], 2.5),
            Row(f"each further level / stateless, {session}", further, "s", peers["stateless"], 1.0),
        ]
    return result
