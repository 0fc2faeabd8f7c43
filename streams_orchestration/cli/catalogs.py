"""`streams catalog`: where the catalog is and of which version; brings an older one to this version."""

from __future__ import annotations

from streams_orchestration.cli.invocation import answer
from streams_orchestration.cli.messages import detail, note
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.upgrading import upgrade as upgrade_tables
from streams_orchestration.runtime.catalog.upgrading import upgrade_older
from streams_orchestration.runtime.catalog.versions import is_older, newest
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import deployed_applications


def show() -> int:
    """Show where it is, the revision of its tables, and what is deployed in it."""
    home = Home.default()
    opened = Catalog(home)
    version = opened.version()
    lines = [f"catalog     {opened.name}", f"revision    {version or 'none: nothing was ever deployed here'}"]
    deployed = deployed_applications(home) if version == newest() else ()
    if version == newest():
        lines.append(f"deployed    {', '.join(deployed) or 'nothing'}")
    elif version is not None:
        lines.append(f"wanted      {newest()}{': `streams catalog upgrade`' if is_older(version) else ''}")
    facts = {"catalog": opened.name, "revision": version, "wanted": newest(), "deployed": list(deployed)}
    return answer(lambda: facts, "\n".join(lines))


def upgrade() -> int:
    """Bring it to this version of the product."""
    opened = Catalog(Home.default())
    before = upgrade_tables(opened)
    done = "is of this version already" if before == newest() else f"was upgraded from {before}"
    facts = {"catalog": opened.name, "before": before, "revision": newest()}
    return answer(lambda: facts, f"{opened.name}: the catalog {done} ({newest()}).")


def upgrade_catalog(home: Home) -> None:
    """Upgrade an older catalog to this version before it is deployed to, and report that."""
    opened = Catalog(home)
    detail(f"State directory {home.root}, catalog {opened.name}")
    before = upgrade_older(opened)
    if before is not None:
        note(f"The catalog was upgraded from revision {before}.")
