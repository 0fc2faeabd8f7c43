"""`streams catalog`: where the catalog is and of which version; brings an older one to this version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from streams_orchestration.runtime.storage.home import Home


@click.group()
def catalog() -> None:
    """Show or upgrade the catalog that STREAMS_CATALOG names, or that is in the state directory."""


@catalog.command()
def show() -> None:
    """Show where it is, the revision of its tables, and what is deployed in it."""
    from streams_orchestration.runtime.catalog.catalog import Catalog
    from streams_orchestration.runtime.catalog.versions import NEWEST
    from streams_orchestration.runtime.storage.home import Home
    from streams_orchestration.runtime.units.reading import deployed_applications

    home = Home.default()
    opened = Catalog(home)
    version = opened.version()
    click.echo(f"catalog     {opened.name}")
    click.echo(f"revision    {version or 'none: nothing was ever deployed here'}")
    if version == NEWEST:
        click.echo(f"deployed    {', '.join(deployed_applications(home)) or 'nothing'}")
    elif version is not None:
        click.echo(f"wanted      {NEWEST}: `streams catalog upgrade`")


@catalog.command()
def upgrade() -> None:
    """Bring it to this version of the product, all or nothing; what it holds is kept.

    Refused while a host runs, which needs the tables as they are. `streams run` and `streams deploy` do it, too.
    """
    from streams_orchestration.runtime.catalog.catalog import Catalog
    from streams_orchestration.runtime.catalog.upgrading import upgrade
    from streams_orchestration.runtime.catalog.versions import NEWEST
    from streams_orchestration.runtime.storage.home import Home

    opened = Catalog(Home.default())
    before = upgrade(opened)
    done = "is of this version already" if before == NEWEST else f"was upgraded from {before}"
    click.echo(f"{opened.name}: the catalog {done} ({NEWEST}).")


def upgrade_catalog(home: Home) -> None:
    """Bring an older catalog to this version before it is deployed to, and say so."""
    from streams_orchestration.runtime.catalog.catalog import Catalog
    from streams_orchestration.runtime.catalog.upgrading import upgrade_older

    before = upgrade_older(Catalog(home))
    if before is not None:
        click.echo(f"The catalog was upgraded from revision {before}.", err=True)
