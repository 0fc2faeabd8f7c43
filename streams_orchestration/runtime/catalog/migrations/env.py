"""Run by Alembic: migrates the catalog on the connection that `migrate` gives, within its transaction."""

from alembic import context

from streams_orchestration.runtime.catalog.tables import metadata
from streams_orchestration.runtime.catalog.versions import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
