"""Converts tuples to CSV rows, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.checks import check_years
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.formats.texts import frame_of, is_plain, text_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import is_text, type_name

if TYPE_CHECKING:
    import polars as pl

_BYTE_ORDER_MARK = "\ufeff"
_IN_VALUES = frozenset("0123456789+-.:=/")
"""Characters besides letters in values that are not texts. If the separator is one of them, these values need quotes.
"""


def check_csv_schema(schema: pa.Schema) -> None:
    """Raise ValueError if an attribute has a nested type, which CSV cannot represent."""
    if nested := next((field for field in schema if pa.types.is_nested(field.type)), None):
        message = f"format csv: the attribute {nested.name} is {type_name(nested.type)}, which csv cannot hold"
        raise ValueError(message)


def csv_rows(batch: pa.RecordBatch, dialect: CsvDialect) -> pl.Series:
    """Return the text of a row for each tuple, without a line end.

    Null is written as the dialect's first null text. In a row of one value it is the first non-empty null text, since
    an empty line is not a row.

    Raises:
        DataError: a value is ambiguous without quotes, a date or time is outside the years 1 to 9999, or a row of one
            value is null and the dialect has no non-empty null text.
    """
    import polars as pl

    check_years(batch)
    null = dialect.null_texts[0]
    if batch.num_columns == 1 and not null:
        null = next(filter(None, dialect.null_texts), "")
        if not null and batch.column(0).null_count:
            message = (
                f"attribute {batch.schema.names[0]}: null in a row of one value would be an empty line, which is not "
                "a row; choose another text for null, as in nullTexts: ['', NA]"
            )
            raise DataError(message)
    frame = frame_of(batch)
    cells = [_cell(pl.col(field.name), field.type, dialect, alone=len(batch.schema) == 1) for field in batch.schema]
    if not dialect.quoted:
        _check_unquoted(frame, batch.schema, dialect)
    return frame.select(
        pl.concat_str([cell.fill_null(null) for cell in cells], separator=dialect.separator).alias("row")
    ).to_series()


def csv_header(names: list[str], dialect: CsvDialect) -> str:
    """Return the header row with the column names, in quotes where needed.

    Raises:
        DataError: a name needs quotes, but the dialect has none.
    """
    for name in names:
        if not dialect.quoted and _is_special(name, dialect):
            message = f"quoteStrings: the attribute {name!r} needs quotes to be the name of a column"
            raise DataError(message)
    return dialect.separator.join(
        '"' + name.replace('"', '""') + '"' if _is_special(name, dialect) else name for name in names
    )


def _is_special(name: str, dialect: CsvDialect) -> bool:
    return not name or name.startswith(_BYTE_ORDER_MARK) or any(mark in name for mark in _marks(dialect))


def _marks(dialect: CsvDialect) -> list[str]:
    return ['"', "\r", "\n", dialect.separator] if dialect.quoted else ["\r", "\n", dialect.separator]


def _cell(value: pl.Expr, kind: pa.DataType, dialect: CsvDialect, *, alone: bool) -> pl.Expr:
    import polars as pl

    text = value if is_text(kind) else text_of(value, kind)
    if not dialect.quoted or not (is_text(kind) or _meets(dialect, kind)):
        return text
    in_quotes = pl.concat_str([pl.lit('"'), text.str.replace_all('"', '""', literal=True), pl.lit('"')])
    return pl.when(_needs_quotes(text, dialect, alone=alone)).then(in_quotes).otherwise(text)


def _meets(dialect: CsvDialect, kind: pa.DataType) -> bool:
    """Return True if the texts of a type without texts may contain the separator, or equal a text that means null.

    Of the texts for null, only base64, `NaN` and `Infinity` are considered, not other numbers and truth values.
    """
    letters = dialect.separator.isalpha() or dialect.separator in _IN_VALUES
    return letters or pa.types.is_binary(kind) or not set(dialect.null_texts).isdisjoint(("NaN", "Infinity"))


def _needs_quotes(text: pl.Expr, dialect: CsvDialect, *, alone: bool) -> pl.Expr:
    """Return an expression that is true for texts that are ambiguous without quotes."""
    marks = text.str.contains_any(_marks(dialect))
    return marks | text.is_in([*dialect.null_texts, *([""] if alone else [])]) | text.str.starts_with(_BYTE_ORDER_MARK)


def _check_unquoted(frame: pl.DataFrame, schema: pa.Schema, dialect: CsvDialect) -> None:
    import polars as pl

    for field in schema:
        value = pl.col(field.name)
        text = value if is_text(field.type) else text_of(value, field.type)
        if is_plain(field.type) and not _meets(dialect, field.type):
            continue
        wrong = frame.filter(_needs_quotes(text, dialect, alone=len(schema) == 1)).select(text.alias("text"))
        if len(wrong):
            shown = wrong.item(0, 0)
            message = (
                f"attribute {field.name}: {shown!r:.80} needs quotes to be distinct from other values, or from null: "
                "leave out quoteStrings: false, or name other nullTexts or another separator"
            )
            raise DataError(message)
