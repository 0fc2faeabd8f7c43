"""Metadata of Dagster's events. Dagster converts texts, numbers, lists, dicts and paths to its own values by itself."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

Metadata = dict[str, Any]


def table(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> dg.TableMetadataValue:
    """Return a table; `columns` maps the name of each column to the type of its values, such as `string`."""
    records = [dg.TableRecord(dict(zip(columns, row, strict=True))) for row in rows]
    schema = dg.TableSchema([dg.TableColumn(name, kind) for name, kind in columns.items()])
    return dg.MetadataValue.table(records, schema)
