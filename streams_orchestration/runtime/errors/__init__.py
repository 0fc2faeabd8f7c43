"""Errors of the runtime and of operators that run in it, and assertions of the recovery protocol."""
