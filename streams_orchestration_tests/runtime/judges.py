"""Operators that judge by event time which tuples are late, each with an account that goes tuple by tuple."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from hypothesis import strategies as st

from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration_tests.operators.event_time.naive_panes import NaiveIntervals, NaivePanes, NaiveSessions
from streams_orchestration_tests.runtime.event_times import Timed, through

Result = tuple[Any, ...]
PANE = "at bigint, k string, end bigint, timing string, nth bigint, back boolean, n bigint, total bigint"
PANE_OUTPUT = {
    "at": "intervalStart()", "end": "intervalEnd()", "timing": "paneTiming()", "nth": "paneIndex()",
    "back": "isRetraction()", "n": "Count()", "total": "Sum(n)",
}  # fmt: skip


class Account(Protocol):
    """An operator that sees only the tuples of one key."""

    out: list[Result]
    late: list[Timed]

    def tuple(self, row: Timed) -> None: ...

    def advance(self, watermark: int) -> None: ...


@dataclass
class Passing:
    """Lets each tuple through that is not late, and not near an earlier one if there is a distance."""

    age: int = 0
    apart: int = -1
    takes_late: bool = False
    out: list[Result] = field(default_factory=list[Result])
    late: list[Timed] = field(default_factory=list[Timed])
    watermark: int | None = None

    def tuple(self, row: Timed) -> None:
        if self.watermark is not None and row[0] < self.watermark - self.age and not self.takes_late:
            self.late.append(row)
        elif all(abs(row[0] - other[0]) > self.apart for other in self.out):
            self.out.append(row)

    def advance(self, watermark: int) -> None:
        self.watermark = watermark


class Panes:
    """The panes of an Aggregate."""

    def __init__(self, panes: NaivePanes) -> None:
        self.panes = panes
        self.out: list[Result] = []
        self.late = panes.late

    def tuple(self, row: Timed) -> None:
        self.panes.tuple(row)

    def advance(self, watermark: int) -> None:
        for results in self.panes.advance(watermark):
            self.out += [(start, key, end, *rest) for key, start, end, *rest in results]


class Judge(NamedTuple):
    """An operator named `Judged`, and its account."""

    node: Callable[[str], dict[str, Any]]
    """The operator as a document, for the stream that it reads."""
    account: Callable[[], Account]
    has_late: bool = True
    """True if the stream `Late` has its late tuples."""


def _judged(kind: str, parameters: dict[str, Any], account: Callable[[], Account], *names: str) -> Judge:
    schemas = [PANE if kind == "Aggregate" else "T", *("T" for _ in names)]
    outputs = [{"stream": name, "schema": each} for name, each in zip(("Judged", *names), schemas, strict=True)]
    node = {"parameters": parameters, "outputs": outputs}
    return Judge(lambda stream: through("Judged", kind, stream) | node, account, "Late" in names)


AGES = st.sampled_from([0, 0, 2, 5, 12])


@st.composite
def aggregates(draw: st.DrawFn, tick: int) -> Judge:
    """Return an Aggregate of intervals or sessions; a number of a length is so many ticks."""
    age, refinement = draw(AGES), draw(st.sampled_from(["accumulating", "discarding", "retracting"]))

    def shown(length: int) -> str:
        return f"{length * tick / 1000:.3f}"

    def key_of(row: Timed) -> str:
        return row[1]

    def values(rows: Any) -> tuple[int, int]:
        return len(rows), sum(n for *_, n in rows)

    window = f"discardAge({shown(age)}), partitioned"
    given: dict[str, Any] = {
        "discard": age * tick, "result": values, "partition_of": key_of, "group_of": key_of, "refinement": refinement,
    }  # fmt: skip
    if draw(st.booleans()):
        gap = draw(st.integers(1, 6))
        window = f"session, gap({shown(gap)}), {window}"

        def account() -> Account:
            return Panes(NaiveSessions(**given, gap=gap * tick))
    else:
        duration, period, offset = draw(st.integers(1, 10)), draw(st.integers(1, 10)), draw(st.integers(0, 20))
        early, by_pane = draw(st.sampled_from([None, None, 1, 3])), draw(st.booleans())
        window = (
            f"timeInterval, intervalDuration({shown(duration)}), creationPeriod({shown(period)}), "
            f"intervalOffset({shown(offset)}), discardBy({'pane' if by_pane else 'tuple'}), {window}"
        )
        window += "" if early is None else f", early({shown(early)})"

        def account() -> Account:
            return Panes(NaiveIntervals(
                **given, early=None if early is None else early * tick, duration=duration * tick,
                period=period * tick, offset=offset % period * tick, by_pane=by_pane,
            ))  # fmt: skip

    parameters = {"window": window, "partitionBy": ["k"], "refinement": refinement, "output": PANE_OUTPUT}
    return _judged("Aggregate", parameters, account, "Late")


def judges(tick: int) -> st.SearchStrategy[Judge]:
    """Return operators whose results depend on which tuples are late."""
    sort = _judged("Sort", {"window": "eventTime"}, Passing, "Late")
    unique = st.builds(
        lambda within, age: _judged(
            "DeDuplicate",
            {"key": ["k"], "within": within * tick / 1000, "discardAge": age * tick / 1000},
            lambda: Passing(age * tick, within * tick),
            "Again",
            "Late",
        ),
        st.integers(0, 6),
        AGES,
    )
    return st.one_of(aggregates(tick), aggregates(tick), st.just(sort), unique)


def delays(tick: int) -> st.SearchStrategy[Judge]:
    """Return operators that delay all tuples."""
    return st.integers(0, 8).map(
        lambda delay: _judged(
            "Delay", {"by": "watermark", "delay": delay * tick / 1000}, lambda: Passing(takes_late=True)
        )
    )


def ended(accounts: dict[str, Account]) -> tuple[list[Result], list[Timed]]:
    """Return the results and late tuples of all keys, in order, after the end of the streams."""
    for account in accounts.values():
        account.advance(END)
    out = [row for account in accounts.values() for row in account.out]
    return sorted(out), sorted(row for account in accounts.values() for row in account.late)
