"""`streams catalog`: show the catalog's place and version, and upgrade an older catalog to this version."""

from __future__ import annotations

from streams_orchestration.cli.invocation import answer
from streams_orchestration.cli.messages import note
from streams_orchestration.runtime import api


def show() -> int:
    """Show the catalog's place, the revision of its tables, and the applications that are deployed in it.

    Applications are shown only if the revision is this version's. The exit status is 0.
    """
    home = api.Home.default()
    opened = api.Catalog(home)
    version = opened.version()
    lines = [f"catalog     {opened.name}", f"revision    {version or 'none: no application was ever deployed here'}"]
    deployed = api.deployed_applications(home) if version == api.newest() else ()
    if version == api.newest():
        lines.append(f"deployed    {', '.join(deployed) or 'nothing'}")
    elif version is not None:
        lines.append(f"wanted      {api.newest()}{': `streams catalog upgrade`' if api.is_older(version) else ''}")
    facts = {"catalog": opened.name, "revision": version, "wanted": api.newest(), "deployed": list(deployed)}
    return answer(lambda: facts, "\n".join(lines))


def upgrade() -> int:
    """Upgrade the catalog to this version of the product, if it is older; return the exit status, 0.

    Raises:
        CatalogMissingError, CatalogVersionError: there is no catalog, or it cannot be upgraded now.
    """
    opened = api.Catalog(api.Home.default())
    before = api.upgrade_tables(opened)
    done = "has this version already" if before == api.newest() else f"was upgraded from {before}"
    facts = {"catalog": opened.name, "before": before, "revision": api.newest()}
    return answer(lambda: facts, f"{opened.name}: the catalog {done} ({api.newest()}).")


def upgrade_catalog(catalog: api.Catalog) -> None:
    """Upgrade an older catalog to this version before its use, and report that. Raises CatalogError if that fails."""
    before = api.upgrade_older(catalog)
    if before is not None:
        note(f"The catalog was upgraded from revision {before} to {api.newest()}.")
