"""The faults of the disk of a simulation, each a function that lets one happen."""

from __future__ import annotations

from streams_orchestration_tests.simulation.faults import AWAY_SECONDS, LENGTH_WEIGHTS, Faults

MOST_FLIPS = 3
"""Most bits that are flipped in a run; with many of them nothing would be left to heal from."""
BOOT_SECONDS = 5.0
"""Seconds from a loss of power to the start of the first process."""
REPLACE_SECONDS = (20.0, 90.0)
"""Seconds until a person has replaced a broken disk."""


def power(faults: Faults, step: str) -> str | None:
    """Let the machine lose its power, and what is not on disk, and start it again."""
    if faults.machines.machines:
        return None  # the files of several machines are on a server
    lost: list[str] = []

    settled = faults.checks.settled()

    def lose() -> None:
        lost.append(faults.disk.lose_power())
        faults.checks.look_again(settled)

    faults.scheduler.lose_power(faults.scheduler.here, lose)
    faults.held.clear()
    faults.scheduler.later(BOOT_SECONDS, faults.start)
    return f"at {step}: {lost[0]}"


def full(faults: Faults, _step: str) -> str:
    """Let nothing be written for some time."""
    seconds = AWAY_SECONDS[faults.scheduler.choices.pick("seconds", LENGTH_WEIGHTS)]
    faults.disk.full_until = faults.lasts(seconds)
    return f"for {seconds} s"


def flip(faults: Faults, _step: str) -> str | None:
    """Flip a bit of a segment, a state, or a file that waits in a sink."""
    with faults.scheduler.outside():
        paths = faults.checks.kept()
        if len(faults.disk.flipped) == MOST_FLIPS or not paths:
            return None
        return faults.checks.flip(paths[faults.scheduler.choices.pick("file", (1,) * len(paths))])


def bad_disk(faults: Faults, _step: str) -> str | None:
    """Break the disk of one directory while all else goes on, until a person replaces it by one of the same content.

    With machines, one of them cannot use the directory.
    """
    machine = faults.machines.choose() if faults.machines.machines else faults.scheduler.here
    if machine is None or machine.bad_disk:
        return None
    machine.bad_disk = directory(faults)
    seconds = REPLACE_SECONDS[faults.scheduler.choices.pick("seconds", LENGTH_WEIGHTS[: len(REPLACE_SECONDS)])]
    faults.lasts(seconds)
    faults.scheduler.later(seconds, lambda: setattr(machine, "bad_disk", ""))
    where = f" of {machine.name}" if machine.takes_hosts else ""
    return f"{machine.bad_disk.replace(faults.scheduler.place, '')}{where} for {seconds:g} s"


def directory(faults: Faults) -> str:
    """Choose a directory of the application: that of results, streams, states or waiting files."""
    home, application = faults.redeploys.home, faults.redeploys.plans[0].name
    kinds = ("streams", "states", "waiting") if faults.checks.store is None else ("waiting",)
    directories = (home.results(application), *(home.data(application) / kind for kind in kinds))
    return str(directories[faults.scheduler.choices.pick("directory", (1,) * len(directories))])
