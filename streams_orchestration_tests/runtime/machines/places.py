"""A deployed application on machines whose agents turn when they are told to; their hosts are numbers in a set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, select, update

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import HostRow
from streams_orchestration.runtime.machines.agent import Agent, Machine
from streams_orchestration.runtime.machines.standbys import Standbys
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.running import FakeHosts

ELSEWHERE = "another boot"


class Place:
    """The application and the machines."""

    def __init__(self, directory: Path, hosts: FakeHosts, compilation: PlannedCompilation) -> None:
        self.home, self.hosts = Home(directory / "home"), hosts
        self.local = LocalApplication(self.home, compilation, 5)
        self.catalog, self.name = Catalog(self.home), self.local.name
        self.agents: dict[str, Agent] = {}

    def unregistered(self, name: str, *tags: str) -> Agent:
        """Return an agent that has not begun."""
        return Agent(self.home, Machine(name, tags, 2), Standbys(self.home, name, 0, EngineSettings()))

    def registered(self, name: str, *tags: str) -> Agent:
        """Return an agent whose machine is there."""
        self.agents[name] = agent = self.unregistered(name, *tags)
        agent.register()
        return agent

    def set(self, table: Any, *where: ColumnElement[bool], **values: Any) -> None:
        """Change rows of a table."""
        with self.catalog.write() as connection:
            connection.execute(update(table).where(*where).values(**values))

    @property
    def rows(self) -> dict[int, HostRow]:
        """Host -> its row."""
        with self.catalog.read() as connection:
            return {row.id: row for row in HostRow.all(connection, select(tables.host).order_by(tables.host.c.id))}

    @property
    def host(self) -> HostRow:
        """The row of the only host."""
        (row,) = self.rows.values()
        return row

    @property
    def on(self) -> dict[int, str]:
        """Host -> its machine."""
        return {host: row.machine or "" for host, row in self.rows.items()}
