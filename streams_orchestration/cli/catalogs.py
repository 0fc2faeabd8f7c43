"""`streams catalog`: show the catalog's place and version, and upgrade an older catalog to this version."""

from __future__ import annotations

from streams_orchestration.cli.invocation import answer
from streams_orchestration.cli.messages import note
from streams_orchestration.runtime import api


def show() -> int:
    """Show the catalog's place, the revision of its tables, and the applications that are deployed in it.

    Applications are shown only if the revision is this version's. The exit status is 0.
    """
    opened = api.Catalog(api.Home.default())
    version, wanted = opened.version(), api.find_product_revision()
    lines = [f"catalog     {opened.name}", f"revision    {version or 'none: no application was ever deployed here'}"]
    deployed = api.list_applications(opened) if version == wanted else ()
    if version == wanted:
        lines.append(f"deployed    {', '.join(deployed) or 'nothing'}")
    elif version is not None:
        remedy = ": `streams catalog upgrade`" if api.is_upgradable_revision(version) else ""
        lines.append(f"wanted      {wanted}{remedy}")
    facts = {"catalog": opened.name, "revision": version, "wanted": wanted, "deployed": list(deployed)}
    return answer(lambda: facts, "\n".join(lines))


def upgrade() -> int:
    """Upgrade the catalog to this version of the product, if it is older; return the exit status, 0.

    Raises:
        CatalogMissingError, CatalogVersionError: there is no catalog, or it cannot be upgraded now.
    """
    opened = api.Catalog(api.Home.default())
    before, revision = api.upgrade_catalog(opened), api.find_product_revision()
    done = "has this version already" if before == revision else f"was upgraded from {before}"
    facts = {"catalog": opened.name, "before": before, "revision": revision}
    return answer(lambda: facts, f"{opened.name}: the catalog {done} ({revision}).")


def upgrade_catalog(catalog: api.Catalog) -> None:
    """Upgrade an older catalog to this version before its use, and report that. Raises CatalogError if that fails."""
    before = api.upgrade_older_catalog(catalog)
    if before is not None:
        note(f"The catalog was upgraded from revision {before} to {api.find_product_revision()}.")
