"""Errors of operators: of data, of parameters, and of systems outside of the application."""
