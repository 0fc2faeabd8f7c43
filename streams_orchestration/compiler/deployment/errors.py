"""The error of an application that compiles but cannot be deployed."""

from __future__ import annotations


class CannotRunError(ValueError):
    """The application compiles, but cannot run as it is: the message names the place and the remedy."""
