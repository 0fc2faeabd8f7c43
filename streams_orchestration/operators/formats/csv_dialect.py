"""The dialect of CSV: its separator, its quotes, and the texts that represent null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field

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

    def _faults(self) -> Iterator[str]:
        if self.separator in _NO_SEPARATORS or len(self.separator.encode()) > 1:
            yield (
                f"separator: {self.separator!r} cannot separate values; use a single ASCII character that is not a "
                "quote"
            )
        if wrong := next((text for text in self.null_texts if set(text) & {*'"\r\n', self.separator}), None):
            yield f"nullTexts: {wrong!r} has a quote, a separator or a line break"
        if not self.null_texts:
            yield "nullTexts: list at least one text that means null, as in nullTexts: ['']"
        form = getattr(self, "format", "csv")  # splCsv is the CSV of SPL
        if self.separator != "," and form not in ("csv", "splCsv"):
            yield "separator is for format csv only; leave it out"
        if self.null_texts != NULL_TEXTS and form != "csv":
            yield "nullTexts is for format csv only; leave it out"

    def _faults_of_formats(self, suits: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yield a fault for each given parameter that the format does not have.

        `suits` maps parameters, as a spec names them, to the formats that have them.
        """
        own = getattr(self, "format", "csv")
        given = {type(self).model_fields[name].alias or name for name in self.model_fields_set}
        for name, formats in suits.items():
            if name in given and own not in formats:
                yield f"{name} is for format {' or '.join(formats)}, not for {own}; leave it out"

    def dialect(self) -> CsvDialect:
        """Return the dialect that the parameters describe."""
        return CsvDialect(self.separator, getattr(self, "quote_strings", True), self.null_texts)
