"""The picture of an application's graph, which notebooks show."""

from __future__ import annotations


class Drawing:
    """A picture in SVG."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_html_(self) -> str:
        return self.svg
