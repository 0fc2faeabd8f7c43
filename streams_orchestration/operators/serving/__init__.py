"""Listening for connections: limits that hold before anybody is known, and a guard against pages of other addresses."""
