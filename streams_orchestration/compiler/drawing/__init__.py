"""Drawings of a compiled application: layout, geometry, SVG and text."""
