"""Checks of a compiled application that need the operators themselves."""
