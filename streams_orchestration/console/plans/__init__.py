"""The compile view: specs that are not deployed, compiled and compared on the page."""
