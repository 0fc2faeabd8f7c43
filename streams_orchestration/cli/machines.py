"""`streams agent` and `streams machines`: run the agent of this machine, and list and manage all machines."""

from __future__ import annotations

import logging
import os
import signal
import socket
from dataclasses import asdict
from types import FrameType

from rich.table import Table

from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.output import log_to_standard_error
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.model.brief import plural
from streams_orchestration.runtime import api


def agent(name: str | None, tags: str, cores: int | None, standbys: int) -> int:
    """Register this machine, and run its agent until Ctrl-C or SIGTERM; return the exit status, 0.

    The default name is the name of the host, the default number of cores the number of its processors.

    Raises:
        MachineError: the catalog is not in PostgreSQL.
        HostLaunchError: the system's limit of open files is too low.
        SettingError: a setting in the environment cannot be used.
    """
    home = api.Home.default()
    if api.read_catalog_url(home).get_backend_name() != "postgresql":
        message = (
            "several machines need a catalog in PostgreSQL, since files on a network cannot be locked safely. Set "
            "STREAMS_CATALOG to its address, such as postgresql://user@host/database"
        )
        raise api.MachineError(message)
    api.require_open_files("the agent of this machine")
    carried = tuple(dict.fromkeys(filter(None, (tag.strip() for tag in tags.split(",")))))
    machine = api.Machine(name or socket.gethostname(), carried, cores or os.cpu_count() or 1)
    log_to_standard_error(logging.INFO, "%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    settings = api.Settings.from_environment()
    engine = settings.engine(carried)
    launcher = api.Standbys(home.prepare(), machine.name, standbys, engine, settings.log_size)
    running, rescheduler = api.Agent(home, machine, launcher), api.HostRescheduler(home, machine.name)

    def end(_signal: int, _frame: FrameType | None) -> None:
        rescheduler.end()
        running.end()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    note(f"This is machine {machine.name}. Hosts that are started here keep running when its agent ends (Ctrl-C).")
    rescheduler.start()
    running.run()
    return 0


def list_() -> int:
    """Show the registered machines, and return the exit status."""
    known = api.read_machines(api.Catalog(api.Home.default()))
    if not current().json:
        if known:
            write_table(_table(known), None)
        else:
            note("No machine is registered: hosts are processes of the machine that starts them. See `streams agent`.")
    return answer(lambda: {"machines": [_facts(machine) for machine in known]})


def drain(name: str, within: float) -> int:
    """Move the hosts of a machine to other machines, and start no more hosts on it; return the exit status.

    Raises:
        StreamsRuntimeError: there is no such machine; or a host cannot be moved, and then a registered machine is
            DRAINING all the same.
    """
    note(f"Draining {name} ...")
    moved = api.drain_machine(api.Catalog(api.Home.default()), name, within=within)
    where = "; ".join(f"host {each.host} of {each.application} continues on {each.machine}" for each in moved)
    facts = {"machine": name, "state": "DRAINING", "moved": [asdict(each) for each in moved]}
    return answer(lambda: facts, f"{name} takes no more hosts. {where or 'It had none'}.")


def resume(name: str) -> int:
    """Let a drained machine take hosts again; return the exit status, 0.

    Raises:
        MachineError: the machine is not registered, or its agent has ended.
    """
    api.set_machine_state(api.Catalog(api.Home.default()), name, "UP")
    return answer(lambda: {"machine": name, "state": "UP"}, f"{name} takes hosts again.")


def remove(name: str) -> int:
    """Remove a machine from the catalog; return the exit status, 0.

    Raises:
        MachineError: the machine is not registered, its agent is up, or hosts live there.
    """
    api.forget_machine(api.Catalog(api.Home.default()), name)
    return answer(lambda: {"removed": name}, f"{name} is removed.")


def _table(known: tuple[api.MachineStatus, ...]) -> Table:
    table = Table("machine", "state", "host name", "tags", "cores", "load", "lease", "standby", "hosts")
    for machine in known:
        lease = f"{machine.lease_seconds:.0f} s" if machine.lease_seconds > 0 else "ended"
        table.add_row(
            machine.name,
            machine.state,
            machine.row.address,
            ", ".join(machine.row.tags),
            str(machine.row.cores),
            "" if machine.row.load is None else f"{machine.row.load:.1f}",
            lease,
            str(machine.row.standbys),
            ", ".join(machine.hosts) or plural(0, "host"),
        )
    return table


def _facts(machine: api.MachineStatus) -> dict[str, object]:
    return {
        "name": machine.name,
        "address": machine.row.address,
        "state": machine.state,
        "tags": machine.row.tags,
        "cores": machine.row.cores,
        "hosts": list(machine.hosts),
        "standbys": machine.row.standbys,
        "load": machine.row.load,
        "leaseSeconds": machine.lease_seconds,
        "since": machine.row.since,
        "version": machine.row.version,
    }
