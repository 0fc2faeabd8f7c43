"""Run by Alembic: migrates the catalog within the transaction of the connection that `migrate` passes."""

from alembic import context

from streams_orchestration.runtime.catalog.tables import metadata
from streams_orchestration.runtime.catalog.versions import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
