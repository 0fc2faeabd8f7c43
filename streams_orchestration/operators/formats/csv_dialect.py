"""The dialect of CSV: its separator, its quotes, and the texts that represent null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field, model_validator

from streams_orchestration.operators.contract.operator import Parameters

NULL_TEXTS = ("", "NA", "N/A", "n/a", "NULL", "null", "#N/A", "#NA")
"""Texts that mean null unless they are quoted."""
_NO_SEPARATORS = frozenset('"\r\n\ufeff')


@dataclass(frozen=True)
class CsvDialect:
    """The rules that divide a text into rows and values. A quoted text is never null; an empty line is not a row."""

    separator: str = ","
    quoted: bool = True
    """True if values are quoted where needed; False makes quotes ordinary characters."""
    null_texts: tuple[str, ...] = field(default=NULL_TEXTS)


class CsvParameters(Parameters):
    """The parameters of operators that read or write CSV."""

    separator: str = Field(
        default=",", min_length=1, max_length=1, description="Character between the values of a CSV row."
    )
    null_texts: tuple[str, ...] = Field(
        default=NULL_TEXTS,
        alias="nullTexts",
        description="CSV texts that mean null when they are not quoted. The first one is written.",
    )

    @model_validator(mode="after")
    def _check_dialect(self) -> CsvParameters:
        if self.separator in _NO_SEPARATORS or len(self.separator.encode()) > 1:
            message = (
                f"separator: {self.separator!r} cannot separate values; use a single ASCII character that is not a "
                "quote"
            )
            raise ValueError(message)
        if wrong := next((text for text in self.null_texts if set(text) & {*'"\r\n', self.separator}), None):
            message = f"nullTexts: {wrong!r} has a quote, a separator or a line break"
            raise ValueError(message)
        if not self.null_texts:
            message = "nullTexts: list at least one text that means null, as in nullTexts: ['']"
            raise ValueError(message)
        form = getattr(self, "format", "csv")  # splCsv is the CSV of SPL
        if self.separator != "," and form not in ("csv", "splCsv"):
            message = "separator is for format csv only; leave it out"
            raise ValueError(message)
        if self.null_texts != NULL_TEXTS and form != "csv":
            message = "nullTexts is for format csv only; leave it out"
            raise ValueError(message)
        return self

    def check_formats(self, suits: Mapping[str, Sequence[str]]) -> None:
        """Check that no parameter is given which another format needs.

        Args:
            suits: maps a parameter, as a spec names it, to the formats that have it.

        Raises:
            ValueError: the format does not have a parameter that is given.
        """
        own = getattr(self, "format", "csv")
        given = {type(self).model_fields[name].alias or name for name in self.model_fields_set}
        for name, formats in suits.items():
            if name in given and own not in formats:
                message = f"{name} is for format {' or '.join(formats)}, not for {own}; leave it out"
                raise ValueError(message)

    def dialect(self) -> CsvDialect:
        """Return the dialect that the parameters describe."""
        return CsvDialect(self.separator, getattr(self, "quote_strings", True), self.null_texts)
