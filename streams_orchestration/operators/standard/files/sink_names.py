"""Files of a FileSink that `nameBy` names, tuple by tuple or by the first tuple of a file."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.expressions.evaluation import Expression, parse_expression
from streams_orchestration.operators.files.partitions import divided, named_directory
from streams_orchestration.operators.files.spl_lines import WrittenMark
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.files.sink_parameters import FileSinkParameters
from streams_orchestration.operators.standard.files.whole_files import Items

NAME = "@name"
"""The last column of tuples, with the names of their files."""
_DROPPED = "/dev/null"


def names_of_files(context: OperatorContext, parameters: FileSinkParameters) -> Expression | None:
    """Return the expression with the name of a tuple's file; None without `nameBy`.

    Raises:
        ValueError: the expression is wrong, or its value is not text.
    """
    if parameters.name_by is None:
        return None
    expression = parse_expression(parameters.name_by, context.inputs[0], "nameBy", context.zone)
    return expression.assigned(pa.string())


def divided_by_name(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the directory of each file with its tuples, without their names. Tuples of `/dev/null` are dropped.

    Raises:
        DataError: a name is null, or does not name a file below the sink's directory.
    """
    names = table.column(NAME).combine_chunks().dictionary_encode()
    directories = [_directory_of(name) for name in names.dictionary.to_pylist()]
    if names.null_count:
        named_directory(None)
    places = pa.array(directories, pa.string()).take(names.indices)
    yield from divided(table.drop_columns([NAME]).filter(pc.is_valid(places)), places.drop_null())


def named_items(items: Items) -> tuple[str | None, Items]:
    """Return the directory of a whole file, which its first tuple names, and its items without their names.

    The directory is None if the tuples are dropped, and empty if the file has no name.

    Raises:
        DataError: the name is null, or does not name a file below the sink's directory.
    """
    batches = [item for item in items if not isinstance(item, WrittenMark)]
    if not batches or NAME not in batches[0].schema.names:
        return "", items
    bare: Items = [item if isinstance(item, WrittenMark) else item.drop_columns([NAME]) for item in items]
    return _directory_of(batches[0].column(NAME)[0].as_py()), bare


def _directory_of(name: str | None) -> str | None:
    """Return the directory for tuples whose file has this name; None if they are dropped."""
    return None if name == _DROPPED else named_directory(name)
