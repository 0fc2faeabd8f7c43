"""On which databases tests run that are for each of them."""

from __future__ import annotations

import pytest

POSTGRESQL_IS_DEEP = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.deep)], indirect=True
)
"""For tests of what does not depend on the database: `make deep` repeats them on PostgreSQL.

Without this mark the fixture `database` gives both, as for the catalog's own tests, resets and recovery.
"""
