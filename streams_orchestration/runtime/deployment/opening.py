"""Opens an application for a change of its deployment, and checks that it may run here."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.compiling import broken_conditions
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import prepare_catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.lasting_hosts import refuse_short_lived
from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, RunKind, require_ends
from streams_orchestration.runtime.errors.errors import NotDeployableError
from streams_orchestration.runtime.hosts.references import unresolved_references
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.storage.home import Home


@dataclass(frozen=True, slots=True)
class OpenedApplication:
    """An application whose deployment may be changed; made by `open_application` only, under its start lock."""

    catalog: Catalog
    settings: Settings
    """The settings of the environment, for hosts that start."""
    wanted: Deployable
    """The application that is to run."""
    run: RunKind
    """The kind of run that begins."""
    deployed: bool
    """True if an application of this name was deployed when it was opened."""

    @property
    def name(self) -> str:
        """The name of the application."""
        return self.wanted.name

    @property
    def home(self) -> Home:
        """The state directory."""
        return self.catalog.home


def open_application(
    catalog: Catalog, lock: StartLock, wanted: Deployable, run: RunKind = ENDLESS
) -> OpenedApplication:
    """Open an application under its start lock. A missing catalog is created, and an older one is upgraded.

    Args:
        catalog: the catalog, which may not exist yet.
        lock: the start lock of the application, so that no other process changes the deployment meanwhile.
        wanted: the application.
        run: the kind of run that begins.

    Raises:
        NotDeployableError: a stage of the compiler is wrong, which is a bug; the kind of run is not possible; or no
            machines are registered, and this one cannot resolve a reference of an operator.
        ShortLivedProcessError: hosts would end with this process, and no machine is registered.
        ImplementationError, ValidationError: the run is bounded, and an operator cannot be used.
        SettingError: a setting in the environment cannot be used.
        StateDirectoryError, CatalogError, StorageSettingError: the home, the catalog or the storage cannot be used.
    """
    lock.require(wanted.name)
    if broken := broken_conditions(wanted.compilation):
        message = f"{wanted.name}: {broken}"
        raise NotDeployableError(message)
    settings = Settings.from_environment(catalog.home.environment)
    if run.available_now:
        require_ends(wanted.plan.programs)
    prepare_catalog(catalog)
    a = tables.application
    with catalog.read() as connection:
        machines = registered(connection)
        deployed = connection.scalar(select(a.c.name).where(a.c.name == wanted.name)) is not None
    refuse_short_lived(catalog.home, wanted.name, machines)
    if not machines:  # the hosts are children of this process
        _require_references(wanted, settings)
    return OpenedApplication(catalog, settings, wanted, run, deployed)


def _require_references(wanted: Deployable, settings: Settings) -> None:
    plan = wanted.plan
    here = [pe.program for pe in plan.pes if not settings.engine(plan.requirements_of(pe.host).tags).cluster]
    if reason := unresolved_references(here):
        message = f"{wanted.name} is not started: {reason}"
        raise NotDeployableError(message)
